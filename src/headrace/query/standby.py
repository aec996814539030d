"""Telling how the copies of stores that answer queries follow their changelogs: they are standby replicas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class StandbyStep(Enum):
    """Which of StandbyUpdateListener's methods it would be."""

    START = "start"
    BATCH = "batch"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True)
class StandbyEvent:
    """One step of the copy of one partition of a store.

    ``offset`` is the next one of the changelog that the copy needs, ``loaded`` how many records this step took.
    """

    step: StandbyStep
    store: str
    topic: str
    partition: int
    task_id: str
    offset: int
    end_offset: int
    loaded: int = 0


StandbyListener: TypeAlias = Callable[[StandbyEvent], object]
