"""How far an application has come, as the notes that are committed with every batch."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import msgspec

from headrace.batch.task_id import TaskId
from headrace.broker.port import Committed
from headrace.state.version import Version

_TASK = "task:"
_FINGERPRINT = "fingerprint"


class TaskProgress(msgspec.Struct, frozen=True):
    """A task at the end of its last visit."""

    version: Version
    kept: bytes
    next_punctuation_ms: int | None = None
    repartition_ends: dict[str, int] = {}
    """The next offset of each repartition topic that the task reads."""


class Progress:
    """What the next batch starts from."""

    def __init__(self, last: Committed | None) -> None:
        extras: Mapping[str, str] = {} if last is None else last.extras
        self.batch_id = -1 if last is None else last.batch_id
        self.fingerprint = extras.get(_FINGERPRINT)
        self.tasks = {
            _task_id(name): msgspec.msgpack.decode(base64.b64decode(note), type=TaskProgress)
            for name, note in extras.items()
            if name.startswith(_TASK)
        }

    def notes(self, visited: Mapping[TaskId, TaskProgress]) -> dict[str, str | None]:
        """The notes to commit: those of the tasks that were visited, and the rest."""
        return {
            _FINGERPRINT: self.fingerprint,
            **{f"{_TASK}{task}": _encoded(progress) for task, progress in visited.items()},
        }


def _task_id(name: str) -> TaskId:
    subtopology, _, partition = name.removeprefix(_TASK).partition("_")
    return TaskId(int(subtopology), int(partition))


def _encoded(progress: TaskProgress) -> str:
    return base64.b64encode(msgspec.msgpack.encode(progress)).decode()
