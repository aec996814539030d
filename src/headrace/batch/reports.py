"""What a batch did, for whoever watches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headrace.batch.offsets import LostRecords


@dataclass(frozen=True, slots=True)
class BatchUnderWay:
    """A batch that runs and is not committed yet."""

    number: int
    records: int
    """How many it was planned to read at most."""
    since: float
    """When it began, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class BatchReport:
    """One committed batch."""

    batch_id: int
    records: int
    """How many were read from topics."""
    written: int
    """How many went to topics other than changelogs."""
    duration_ms: int
    visits: int
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Dropped records by reason."""
    restored: Mapping[tuple[str, str, int], int] = field(default_factory=dict)
    """Changelog records that were replayed, by store, topic and partition."""
    reading_seconds: float = 0.0
    """For how long its tasks fed on topics, all together."""
    working_seconds: float = 0.0
    """For how long they worked in all."""
    has_advanced: bool = True
    """Whether more is committed now, unless there was nothing to read."""
    lost: tuple[LostRecords, ...] = ()
    """Records that were deleted before they were read."""
