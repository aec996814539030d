"""How far an application has come, as the notes that are committed with every batch."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping

import msgspec

from headrace.batch.task_id import TaskId
from headrace.broker.port import Committed, LogRecord, TopicPartition
from headrace.records import Headers
from headrace.state.rocksdb.visits import Version


class TaskProgress(msgspec.Struct, frozen=True):
    """A task at the end of its last visit."""

    batch: int
    level: int
    kept: bytes
    next_punctuation_ms: int | None = None

    @property
    def version(self) -> Version:
        """The version of its stores."""
        return Version(self.batch, self.level)


class _Carried(msgspec.Struct, array_like=True, frozen=True):
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]


class Progress:
    """What the next batch starts from."""

    def __init__(self, last: Committed | None) -> None:
        extras: Mapping[str, str] = {} if last is None else last.extras
        self.batch_id = -1 if last is None else last.batch_id
        self.fingerprint = extras.get("fingerprint")
        self.tasks = {
            _task_id(name): msgspec.msgpack.decode(base64.b64decode(note), type=TaskProgress)
            for name, note in extras.items()
            if name.startswith("task:")
        }
        self.repartition_ends: dict[TopicPartition, int] = {
            (topic, partition): end
            for topic, partition, end in msgspec.json.decode(
                extras.get("repartitions", "[]"), type=list[tuple[str, int, int]]
            )
        }
        self.carried = _load_carried(extras.get("carried", ""))

    def notes(self, visited: Iterable[TaskId]) -> dict[str, str | None]:
        """The notes to commit: those of the tasks that were visited, and the rest."""
        ends = [[topic, partition, end] for (topic, partition), end in self.repartition_ends.items()]
        return {
            "fingerprint": self.fingerprint,
            "repartitions": msgspec.json.encode(ends).decode(),
            "carried": _dump_carried(self.carried) or None,
            **{f"task:{task}": _encoded(self.tasks[task]) for task in visited},
        }


def _task_id(name: str) -> TaskId:
    subtopology, _, partition = name.removeprefix("task:").partition("_")
    return TaskId(int(subtopology), int(partition))


def _encoded(progress: TaskProgress) -> str:
    return base64.b64encode(msgspec.msgpack.encode(progress)).decode()


def _dump_carried(carried: Mapping[TopicPartition, list[LogRecord]]) -> str:
    records = [_Carried(*record[:6], list(record[6])) for records in carried.values() for record in records]
    return base64.b64encode(msgspec.msgpack.encode(records)).decode() if records else ""


def _load_carried(text: str) -> dict[TopicPartition, list[LogRecord]]:
    carried: dict[TopicPartition, list[LogRecord]] = {}
    if text:
        for record in msgspec.msgpack.decode(base64.b64decode(text), type=list[_Carried]):
            carried.setdefault((record.topic, record.partition), []).append(
                (
                    record.topic,
                    record.partition,
                    record.offset,
                    record.timestamp,
                    record.key,
                    record.value,
                    Headers(record.headers),
                )
            )
    return carried
