"""Parcels as rows of Spark: few and large, in Arrow record batches of bounded size.

A row has the target, by which rows are shuffled, the rest of the address, and the data. Every column, and a schema that
is text, costs some milliseconds for each level of each batch: Java is asked about it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from headrace.batch.parcels import Parcel

TARGET = "target"
SCHEMA = StructType(
    [StructField(TARGET, IntegerType()), StructField("address", BinaryType()), StructField("data", BinaryType())]
)
BATCH_BYTES = 4 << 20

_ARROW = pa.schema([(TARGET, pa.int32()), ("address", pa.binary()), ("data", pa.binary())])
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(tuple[int, int, int, int, int, str, str]).decode


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
        for target, address, data in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield Parcel(target, *_unpack(address), data)


def _batch(parcels: list[Parcel]) -> Any:
    columns = zip(*((target, _pack(address), data) for target, *address, data in parcels), strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
