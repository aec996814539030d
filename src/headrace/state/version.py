"""Versions of stores: what they reflect, and the way from one to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Version(NamedTuple):
    """What a store reflects: everything up to this batch and, inside it, up to this level of sub-topologies.

    ``epoch`` is that of the process that ran the batch. A process that was replaced may have run the same batch over
    other records, and left its version in a directory that is used again later.
    """

    batch: int
    level: int = 0
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class Visit:
    """Where a visit starts and where it ends.

    ``base`` is the version that counts: the last committed one or, when a task is visited a second time in a batch,
    that of the earlier visit. None before the very first batch. ``anew`` names stores whose local copies do not count,
    whatever their version: they are filled from their changelogs.
    """

    base: Version | None
    target: Version
    anew: frozenset[str] = frozenset()
