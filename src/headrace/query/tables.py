"""A store or a topic as an Arrow table, batch by batch.

The columns of a store are those of ``headrace.query.rows``. Keys and values get the type that all of them share, or
become JSON text: see ``headrace.query.shapes``. Timestamps and window bounds stay milliseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import pyarrow as pa

from headrace.query.plain import json_text
from headrace.query.rows import StoreRow, columns_of, rows_of
from headrace.query.shapes import Shape

if TYPE_CHECKING:
    from headrace.query.layout import StoreLayout
    from headrace.query.replicas import Replicas

_BATCH_ROWS = 16_384
_FIXED = {
    "timestamp": pa.int64(),
    "window_start": pa.int64(),
    "window_end": pa.int64(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "headers": pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())])),
}
_OF_A_TOPIC = ("key", "value", "timestamp", "partition", "offset", "headers")


def store_table(replicas: Replicas, name: str) -> pa.Table:
    """All entries of a store as they are committed now."""
    layout = replicas.layout(name)
    with replicas.unchanged():
        return partitions_table(layout, replicas.partitions(name))


def partitions_table(layout: StoreLayout, partitions: Mapping[int, Any]) -> pa.Table:
    """All entries of a store, given as the typed store of each partition."""
    return _table(
        lambda: (row for number, store in partitions.items() for row in rows_of(layout, store, number)),
        columns_of(layout),
    )


def topic_table(rows: Callable[[], Iterator[StoreRow]]) -> pa.Table:
    """Records as a table; ``rows`` gives them, as dicts with all columns of a topic, each time it is called."""
    return _table(rows, _OF_A_TOPIC)


def _table(rows: Callable[[], Iterator[StoreRow]], columns: Iterable[str]) -> pa.Table:
    # The types are known when everything was seen: two passes, so that rows need not be held as objects.
    schema = _schema(rows(), columns)
    return pa.Table.from_batches(list(_batches(rows(), schema)), schema.arrow)


class _Schema(NamedTuple):
    arrow: pa.Schema
    as_json: frozenset[str]
    """The columns that are JSON text."""


def _schema(rows: Iterable[StoreRow], columns: Iterable[str]) -> _Schema:
    key, value = Shape(), Shape()
    for row in rows:
        key.see(_cell(row["key"]))
        value.see(_cell(row["value"]))
    shared = {"key": key.type, "value": value.type}
    types = {name: _FIXED.get(name) or shared[name] for name in columns}
    fields = [pa.field(name, pa.string() if found is None else found) for name, found in types.items()]
    return _Schema(pa.schema(fields), frozenset(name for name, found in types.items() if found is None))


def _batches(rows: Iterator[StoreRow], schema: _Schema) -> Iterator[pa.RecordBatch]:
    while chunk := list(islice(rows, _BATCH_ROWS)):
        columns = [_column([row[field.name] for row in chunk], field, schema) for field in schema.arrow]
        yield pa.record_batch(columns, schema=schema.arrow)


def _column(values: list[Any], field: pa.Field, schema: _Schema) -> pa.Array:
    if field.name in schema.as_json:
        return pa.array([None if value is None else json_text(value) for value in values], pa.string())
    return pa.array([_cell(value) for value in values], field.type)


def _cell(value: Any) -> Any:
    """What is text to everyone but Python is text here."""
    return str(value) if isinstance(value, UUID | Decimal) else value
