"""Parcels that wait for their visit."""

from __future__ import annotations

from itertools import product

import pytest

from headrace.batch.parcels import Kind, Parcel
from headrace.batch.spool import Spool


def parcel(sent_at: int, sender: int, sequence: int) -> Parcel:
    return Parcel(
        0, Kind.RECORDS, 2, sent_at, sender, sequence, "words", "first", f"{sent_at}/{sender}/{sequence}".encode()
    )


@pytest.mark.parametrize("memory_bytes", [4, 1 << 20])
def test_gives_parcels_back_as_they_were_sent_from_memory_or_disk(memory_bytes: int) -> None:
    parcels = [parcel(*place) for place in product(range(2), range(3), range(4))]
    with Spool(memory_bytes) as spool:
        for each in reversed(parcels):
            spool.add(each)
        assert list(spool) == parcels
        assert list(spool) == parcels
        assert len(spool) == len(parcels)
