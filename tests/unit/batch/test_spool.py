"""Parcels that wait for their visit."""

from __future__ import annotations

import pytest

from headrace.batch.parcels import Kind, Parcel
from headrace.batch.spool import Spool


def parcel(sender: int, sequence: int, data: bytes) -> Parcel:
    return Parcel(0, Kind.RECORDS, 1, sender, sequence, "words", "first", data)


@pytest.mark.parametrize("memory_bytes", [4, 1 << 20])
def test_gives_parcels_back_by_sender_and_sequence_from_memory_or_disk(memory_bytes: int) -> None:
    parcels = [
        parcel(sender, sequence, f"{sender}/{sequence}".encode()) for sender in range(3) for sequence in range(4)
    ]
    with Spool(memory_bytes) as spool:
        for each in reversed(parcels):
            spool.add(each)
        assert list(spool) == parcels
        assert list(spool) == parcels
        assert len(spool) == len(parcels)
