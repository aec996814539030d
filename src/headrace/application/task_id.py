"""The name of a task."""

from __future__ import annotations

from typing import NamedTuple


class TaskId(NamedTuple):
    """One partition of one sub-topology.

    >>> str(TaskId(0, 3))
    '0_3'
    """

    subtopology: int
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology}_{self.partition}"
