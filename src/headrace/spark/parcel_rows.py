"""Parcels as rows of Spark: few and large, in Arrow record batches of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from headrace.batch.parcels import Parcel

BATCH_BYTES = 4 << 20

_NUMBERS = ("target", "kind", "level", "sender", "sequence")
_TEXTS = ("topic", "attempt")
SCHEMA = StructType(
    [
        *(StructField(name, IntegerType()) for name in _NUMBERS),
        *(StructField(name, StringType()) for name in _TEXTS),
        StructField("data", BinaryType()),
    ]
)
"""As an object: text would be parsed anew, by Java, for every level of every batch (measured: 10 to 40 ms)."""
_ARROW = pa.schema(
    [
        *((name, pa.int32()) for name in _NUMBERS),
        *((name, pa.string()) for name in _TEXTS),
        ("data", pa.binary()),
    ]
)


def to_batches(parcels: Iterable[Parcel]) -> Iterator[Any]:
    """The parcels as record batches."""
    waiting: list[Parcel] = []
    size = 0
    for parcel in parcels:
        waiting.append(parcel)
        size += len(parcel.data)
        if size >= BATCH_BYTES:
            yield _batch(waiting)
            waiting, size = [], 0
    if waiting:
        yield _batch(waiting)


def from_batches(batches: Iterable[Any]) -> Iterator[Parcel]:
    """The parcels of record batches."""
    for batch in batches:
        yield from map(Parcel._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _batch(parcels: list[Parcel]) -> Any:
    columns = zip(*parcels, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
