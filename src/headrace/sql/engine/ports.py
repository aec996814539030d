"""What the engine needs from outside: topics, and something that runs queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.records import NO_HEADERS, Headers
from headrace.sql.planning.plans import QueryPlan, StatementPlan
from headrace.sql.tree.statements import Parsed, QueryAction


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record that INSERT VALUES writes."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = NO_HEADERS


class Topics(Protocol):
    """The topics that there are."""

    def names(self) -> Iterable[str]:
        """All of them."""

    def partitions(self, topic: str) -> int | None:
        """How many partitions the topic has; None where it does not exist."""

    def create(self, topic: str, partitions: int, settings: Mapping[str, str]) -> None:
        """Make the topic."""

    def delete(self, topic: str) -> None:
        """Delete the topic and what is in it."""

    def append(self, topic: str, record: NewRecord, *beside: tuple[str, NewRecord]) -> None:
        """Write a record, in one step with those ``beside`` it in other topics; it is there when this returns."""


@dataclass(frozen=True, slots=True)
class PersistentQuery:
    """A query that keeps running, with the settings that were in force when it was made."""

    plan: QueryPlan
    statement_text: str
    settings: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Its name in statements."""
        return self.plan.query_id


class Queries(Protocol):
    """Something that runs queries. It is told what to do and returns when that is done."""

    def start(self, query: PersistentQuery) -> None:
        """Run the query, from where it was if it ran before; one of the same id is replaced."""

    def stop(self, query: PersistentQuery) -> None:
        """Do not run it any more, and forget where it was."""

    def pause(self, query: PersistentQuery) -> None:
        """Let it stand still."""

    def resume(self, query: PersistentQuery) -> None:
        """Let it go on."""

    def state(self, query: PersistentQuery) -> str:
        """How it is, in a word: RUNNING, PAUSED, ERROR."""


class Journal(Protocol):
    """Where statements are written down before they take effect, for whoever starts after this process.

    They take effect inside the block that follows; one that does not end well has to be applied again.
    """

    def planned(
        self, plan: StatementPlan, settings: Mapping[str, Any], script: str | None
    ) -> AbstractContextManager[None]:
        """A plan is applied in the block."""

    def controlled(self, action: QueryAction, query_ids: Sequence[str], parsed: Parsed) -> AbstractContextManager[None]:
        """Queries are stopped or paused, or go on, in the block."""

    def beside(self, parsed: Parsed) -> Sequence[tuple[str, NewRecord]]:
        """What is to be written together with the row that a statement inserts."""


class NoJournal:
    """Nobody starts after this process."""

    def planned(
        self, plan: StatementPlan, settings: Mapping[str, Any], script: str | None
    ) -> AbstractContextManager[None]:
        """Not written down."""
        return nullcontext()

    def controlled(self, action: QueryAction, query_ids: Sequence[str], parsed: Parsed) -> AbstractContextManager[None]:
        """Not written down."""
        return nullcontext()

    def beside(self, parsed: Parsed) -> Sequence[tuple[str, NewRecord]]:
        """Nothing."""
        return ()


class DryTopics:
    """Topics as they would be: what is done to these is done to nothing else."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._changed: dict[str, int | None] = {}

    def names(self) -> Iterable[str]:
        """The topics that there would be."""
        known = {*self._topics.names(), *self._changed}
        return [name for name in known if self._changed.get(name, 1) is not None]

    def partitions(self, topic: str) -> int | None:
        """Of the topic as it would be."""
        return self._changed[topic] if topic in self._changed else self._topics.partitions(topic)

    def create(self, topic: str, partitions: int, settings: Mapping[str, str]) -> None:
        """As if the topic were made."""
        self._changed[topic] = partitions

    def delete(self, topic: str) -> None:
        """As if the topic were deleted."""
        self._changed[topic] = None

    def append(self, topic: str, record: NewRecord, *beside: tuple[str, NewRecord]) -> None:
        """Written nowhere."""


class DryQueries:
    """Runs nothing."""

    def start(self, query: PersistentQuery) -> None:
        """Nothing starts."""

    def stop(self, query: PersistentQuery) -> None:
        """Nothing stops."""

    def pause(self, query: PersistentQuery) -> None:
        """Nothing stands still."""

    def resume(self, query: PersistentQuery) -> None:
        """Nothing goes on."""

    def state(self, query: PersistentQuery) -> str:
        """As if it ran."""
        return "RUNNING"
