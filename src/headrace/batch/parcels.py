"""What travels between the tasks of a batch: what to read, records for another sub-topology, and results."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """What a parcel holds."""

    READING = 0
    """What the task is to read from topics (``reading.Reading``)."""
    RECORDS = 1
    """Records that another task sent (``payloads``)."""
    RESULT = 2
    """What a visit hands to the driver (``visit_contract.VisitResult``); it passes every later level on its way."""
    FAILURE = 3
    """Why a visit failed (``failures``)."""


class Parcel(NamedTuple):
    """One row of a shuffle. Few and large: records travel in chunks."""

    target: int
    """The number of the task that it is for."""
    kind: int
    level: int
    """The level at which it is opened; for results the one they come from."""
    sent_at: int = 0
    """The level of the visit that sent it."""
    sender: int = 0
    """The number of the task that sent it."""
    sequence: int = 0
    """How many the visit had sent before."""
    topic: str = ""
    attempt: str = ""
    """Which try of the sender's visit this comes from."""
    data: bytes = b""

    @property
    def place(self) -> tuple[int, int, int]:
        """Its place among the parcels of a task: those sent earlier come first, and every run has the same order."""
        return self.sent_at, self.sender, self.sequence

    def is_opened_at(self, level: int) -> bool:
        """Whether the visit of this level wants it; everything else goes on to the next level."""
        return self.kind <= Kind.RECORDS and self.level == level
