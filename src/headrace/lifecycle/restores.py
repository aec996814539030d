"""Telling how stores are restored: from the notes of workers while a batch runs, from its report when it is done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from headrace.application.restore_notes import RestoreNote
from headrace.listeners import tell

Restored: TypeAlias = tuple[str, str, int]
"""Store, topic and partition."""


class RestoreStep(Enum):
    """Which of StateRestoreListener's methods it would be."""

    START = "start"
    BATCH = "batch"
    END = "end"


@dataclass(frozen=True, slots=True)
class RestoreEvent:
    """One step of the restore of one store from one partition of its changelog.

    ``offset`` is the next one to be restored, ``restored`` how many records have been so far. The offsets are None
    where a restore was over before anybody could look; then there is its START and its END.
    """

    step: RestoreStep
    store: str
    topic: str
    partition: int
    restored: int
    start_offset: int | None = None
    offset: int | None = None
    end_offset: int | None = None


RestoreListener: TypeAlias = Callable[[RestoreEvent], object]


class RestoreWatch:
    """Turns notes into events. Every restore has one START and one END; one that starts over has another START."""

    def __init__(self) -> None:
        self._listeners: list[RestoreListener] = []
        self._lock = threading.Lock()
        self._open: dict[Restored, RestoreNote] = {}

    def listen(self, listener: RestoreListener) -> None:
        """Tell ``listener`` of every step. It is called one step at a time."""
        self._listeners.append(listener)

    def see(self, notes: Iterable[RestoreNote]) -> None:
        with self._lock:
            for note in notes:
                self._see(note)

    def finish(self, counts: Mapping[Restored, int]) -> None:
        """The restores of a batch that is committed."""
        with self._lock:
            for restored, count in counts.items():
                note = self._open.pop(restored, None)
                if note is None:
                    self._tell(RestoreEvent(RestoreStep.START, *restored, 0))
                    self._tell(RestoreEvent(RestoreStep.END, *restored, count))
                else:
                    end = note.end_offset
                    self._tell(RestoreEvent(RestoreStep.END, *restored, count, note.start_offset, end, end))
            self._open.clear()

    def _see(self, note: RestoreNote) -> None:
        restored = (note.store, note.topic, note.partition)
        before = self._open.get(restored)
        if before == note:
            return
        if before is None or note.offset < before.offset:
            self._tell(_event(RestoreStep.START, note, note.start_offset, 0))
        self._tell(_event(RestoreStep.BATCH, note, note.offset, note.restored))
        self._open[restored] = note

    def _tell(self, event: RestoreEvent) -> None:
        tell("restore", self._listeners, event)


def _event(step: RestoreStep, note: RestoreNote, offset: int, restored: int) -> RestoreEvent:
    place = (note.store, note.topic, note.partition)
    return RestoreEvent(step, *place, restored, note.start_offset, offset, note.end_offset)
