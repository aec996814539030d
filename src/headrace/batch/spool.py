"""Holds parcels until they are needed: in memory while they are small, then in a file. Batches may exceed memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TypeAlias

from headrace.batch.parcels import Parcel

MEMORY_BYTES = 32 << 20

_Held: TypeAlias = tuple[Parcel, int, int]
"""A parcel without what is in it, and where that begins and how large it is."""


def _place(held: _Held) -> tuple[int, int, int]:
    return held[0].place


class Spool:
    """Takes parcels in any order and gives them back in the order in which they were sent. A context manager."""

    def __init__(self, memory_bytes: int = MEMORY_BYTES) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=memory_bytes)  # noqa: SIM115
        self._held: list[_Held] = []
        self._end = 0

    def add(self, parcel: Parcel) -> None:
        self._file.seek(self._end)
        self._file.write(parcel.data)
        self._held.append((parcel._replace(data=b""), self._end, len(parcel.data)))
        self._end += len(parcel.data)

    def __iter__(self) -> Iterator[Parcel]:
        return self._read(sorted(self._held, key=_place))

    def by_sender(self) -> list[Iterator[Parcel]]:
        """The same sender by sender, to be read side by side."""
        held = sorted(self._held, key=lambda each: (each[0].sender, _place(each)))
        return [self._read(list(sent)) for _, sent in groupby(held, key=lambda each: each[0].sender)]

    def _read(self, held: Iterable[_Held]) -> Iterator[Parcel]:
        for parcel, start, size in held:
            self._file.seek(start)
            yield parcel._replace(data=self._file.read(size))

    @property
    def index(self) -> Iterator[Parcel]:
        """The parcels without what is in them."""
        return (parcel for parcel, _, _ in self._held)

    def __len__(self) -> int:
        return len(self._held)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
