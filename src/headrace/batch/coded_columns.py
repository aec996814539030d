"""Records in columns whose keys repeat: each key is stored once, and each record holds its number."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.processors.columns import RecordColumns, Tally
from headrace.records import NO_HEADERS, RawRecord


@dataclass(frozen=True)
class CodedColumns:
    """Columns of records without headers. Instead of a key each record has the place of its key in ``distinct``."""

    topic: str
    partition: int
    offsets: Sequence[int]
    timestamps: pa.Int64Array
    codes: pa.Int32Array
    distinct: list[bytes]
    values: Sequence[bytes | None] | None
    """None where each value is the key once more."""

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, part: slice) -> CodedColumns:
        values = None if self.values is None else self.values[part]
        timestamps, codes = self.timestamps[part], self.codes[part]
        return replace(self, offsets=self.offsets[part], timestamps=timestamps, codes=codes, values=values)

    def rows(self) -> Iterator[RawRecord]:
        keys: list[bytes | None] = list(map(self.distinct.__getitem__, self.codes.to_pylist()))
        values = keys if self.values is None else list(self.values)
        return RecordColumns(self.topic, self.partition, self.offsets, self.timestamps.to_pylist(), keys, values).rows()

    def row(self, index: int) -> RawRecord:
        key = self.distinct[self.codes[index].as_py()]
        value = key if self.values is None else self.values[index]
        return (
            self.topic,
            self.partition,
            self.offsets[index],
            self.timestamps[index].as_py(),
            key,
            value,
            NO_HEADERS,
        )

    @property
    def is_plain(self) -> bool:
        """Whether each has a value and a time."""
        return pc.min(self.timestamps).as_py() >= 0 and (self.values is None or None not in self.values)

    @property
    def each_value(self) -> Collection[bytes | None]:
        """The values that occur; some may be listed more than once."""
        return self.distinct if self.values is None else self.values

    def tallies(self) -> Mapping[bytes, Tally]:
        """The keys of plain records with their counts, in the order of each key's last record."""
        return self._tallies

    @property
    def content_bytes(self) -> int:
        """The size of all keys and values of plain records."""
        of_keys = sum(tally.records * len(key) for key, tally in self._tallies.items())
        return of_keys + (of_keys if self.values is None else sum(map(len, self.values)))  # type: ignore[arg-type]

    @property
    def latest_ms(self) -> int:
        """The latest of all timestamps."""
        latest: int = pc.max(self.timestamps).as_py()
        return latest

    @cached_property
    def _tallies(self) -> dict[bytes, Tally]:
        numbers = pc.cumulative_sum(pa.repeat(1, len(self)), start=-1)
        table = pa.table({"code": self.codes, "ms": self.timestamps, "at": numbers})
        grouped = table.group_by("code", use_threads=False).aggregate([("at", "max"), ("at", "count"), ("ms", "max")])
        found = grouped.sort_by("at_max")
        last = found["at_max"].to_pylist()
        keys = list(map(self.distinct.__getitem__, found["code"].to_pylist()))
        values: Any = keys if self.values is None else map(self.values.__getitem__, last)
        times = self.timestamps.take(found["at_max"]).to_pylist()
        columns = found["at_count"].to_pylist(), found["ms_max"].to_pylist(), last, times, values
        return dict(zip(keys, map(Tally, *columns), strict=True))
