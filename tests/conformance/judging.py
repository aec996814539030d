"""Compares a run with its reference batch by batch, in the way that the program and the layout allow."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from tests.conformance.agreement import Agreement, Difference, Shown, at_last


class Judge(Protocol):
    """Sees what both wrote in each batch."""

    def judge(self, expected: Sequence[Shown], found: Sequence[Shown]) -> list[Difference]:
        """Where they part so far."""


class RecordJudge:
    """Every record counts. Only changelogs of buffers are compared by what they hold at the end of each batch."""

    def __init__(self, agreement: Agreement, buffers: Collection[str]) -> None:
        self._agreement, self._buffers = agreement, buffers
        self._tables = TableJudge(buffers)

    def judge(self, expected: Sequence[Shown], found: Sequence[Shown]) -> list[Difference]:
        """The records of this batch."""
        records = ([record for record in each if record.topic not in self._buffers] for each in (expected, found))
        return self._agreement(*records) + self._tables.judge(expected, found)


class TableJudge:
    """Only the last value of each key counts, at the end of each batch."""

    def __init__(self, topics: Collection[str]) -> None:
        self._topics = topics
        self._expected: list[Shown] = []
        self._found: list[Shown] = []

    def judge(self, expected: Sequence[Shown], found: Sequence[Shown]) -> list[Difference]:
        """The tables after this batch."""
        self._expected += [record for record in expected if record.topic in self._topics]
        self._found += [record for record in found if record.topic in self._topics]
        return at_last(self._expected, self._found)
