"""Topics in memory, and queries that are collected rather than run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from headrace.sql.engine.ports import NewRecord, PersistentQuery


class MemoryTopics:
    """Every topic is there; it has four partitions unless it was made with another number."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.records: dict[str, list[NewRecord]] = defaultdict(list)

    def names(self) -> Iterable[str]:
        return {*self.counts, *self.records}

    def partitions(self, topic: str) -> int | None:
        return self.counts.get(topic, 4)

    def create(self, topic: str, partitions: int, settings: Mapping[str, str]) -> None:
        self.counts[topic] = partitions

    def delete(self, topic: str) -> None:
        self.records.pop(topic, None)

    def append(self, topic: str, record: NewRecord, *beside: tuple[str, NewRecord]) -> None:
        self.records[topic].append(record)


class CollectedQueries:
    """The queries that would run, in the order in which they were made."""

    def __init__(self) -> None:
        self.started: dict[str, PersistentQuery] = {}
        self.paused: set[str] = set()

    def start(self, query: PersistentQuery) -> None:
        self.started[query.id] = query

    def stop(self, query: PersistentQuery) -> None:
        del self.started[query.id]

    def pause(self, query: PersistentQuery) -> None:
        self.paused.add(query.id)

    def resume(self, query: PersistentQuery) -> None:
        self.paused.discard(query.id)

    def state(self, query: PersistentQuery) -> str:
        return "PAUSED" if query.id in self.paused else "RUNNING"
