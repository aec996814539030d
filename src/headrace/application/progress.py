"""How far an application has come, as the notes that are committed with every batch."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import msgspec

from headrace.application.task_id import TaskId
from headrace.broker.port import Decided
from headrace.state.version import Version
from headrace.task.owner import new_state_id

_TASK = "task:"
_FINGERPRINT = "fingerprint"
_CHANGELOGS = "changelogs"
_STATE_ID = "state-id"

AT_ONCE = 0
"""When the next punctuation is due of a task that must be visited to know."""


class TaskProgress(msgspec.Struct, frozen=True):
    """A task at the end of its last visit."""

    version: Version
    snapshot: bytes = msgspec.field(name="kept")
    next_punctuation_ms: int | None = None
    repartition_ends: dict[str, int] = {}
    """The next offset of each repartition topic that the task reads."""
    anew: tuple[str, ...] = ()
    """The stores whose local copies do not count at the next visit; see ``headrace.application.upgrading``."""
    offsets: dict[str, int] | None = None
    """What was committed of each topic that the task reads; None where nobody noted it."""
    is_taken_over: bool = False
    """Kafka Streams ran it last: it remembers what was committed with its offsets; see ``kafka_streams``."""


class Progress:
    """What the next batch starts from."""

    def __init__(self, last: Decided | None, address: str = "") -> None:
        """``address`` is that of the broker; needed where the application is going to run."""
        notes: Mapping[str, str] = {} if last is None else last.notes
        self.batch_id = -1 if last is None else last.batch_id
        self.fingerprint = notes.get(_FINGERPRINT)
        self.changelogs = {name: str(each) for name, each in msgspec.json.decode(notes.get(_CHANGELOGS, "{}")).items()}
        """The ids of the changelogs, which tell each from a later topic of the same name."""
        self.state_id = notes.get(_STATE_ID, new_state_id(address) if last is None else "")
        """Tells the state of this application from that of another one with its name, of another broker or time."""
        self._noted = {name: notes.get(name) for name in (_FINGERPRINT, _CHANGELOGS, _STATE_ID)}
        self.tasks = {
            _task_id(name): msgspec.msgpack.decode(base64.b64decode(note), type=TaskProgress)
            for name, note in notes.items()
            if name.startswith(_TASK)
        }

    def notes(self, visited: Mapping[TaskId, TaskProgress]) -> dict[str, str | None]:
        """The notes to commit: those of the tasks that were visited, and of the rest what has changed."""
        return {
            **self._changed(),
            **{f"{_TASK}{task}": _encoded(progress) for task, progress in visited.items()},
        }

    @property
    def has_changed(self) -> bool:
        return bool(self._changed())

    def _changed(self) -> dict[str, str | None]:
        changelogs = msgspec.json.encode(self.changelogs).decode()
        general = {_FINGERPRINT: self.fingerprint, _CHANGELOGS: changelogs, _STATE_ID: self.state_id or None}
        return {name: text for name, text in general.items() if text != self._noted[name]}

    def notes_of_upgrade(self, tasks: Mapping[TaskId, TaskProgress]) -> dict[str, str | None]:
        """The notes that leave ``tasks`` as the only ones there are."""
        gone = {f"{_TASK}{task}": None for task in self.tasks if task not in tasks}
        return {**gone, **self.notes(tasks)}

    def committed(self, batch_id: int, tasks: Mapping[TaskId, TaskProgress], notes: Mapping[str, str | None]) -> None:
        """The notes are committed: this is how far the application has come."""
        self.batch_id = batch_id
        gone = {name for name, note in notes.items() if note is None}
        self.tasks = {task: known for task, known in self.tasks.items() if f"{_TASK}{task}" not in gone} | dict(tasks)
        self._noted.update({name: notes[name] for name in self._noted if name in notes})


def _task_id(name: str) -> TaskId:
    subtopology, _, partition = name.removeprefix(_TASK).partition("_")
    return TaskId(int(subtopology), int(partition))


def _encoded(progress: TaskProgress) -> str:
    return base64.b64encode(msgspec.msgpack.encode(progress)).decode()
