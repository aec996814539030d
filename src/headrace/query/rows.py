"""The entries of a store as rows, for tables and for people.

Every row has ``key`` and ``value``. Stores with timestamps (and versioned ones, whose latest versions are shown) have
``timestamp``; windows and sessions have ``window_start`` and ``window_end``; all but global stores have ``partition``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.query.layout import StoreLayout

StoreRow = dict[str, Any]


def columns_of(layout: StoreLayout) -> tuple[str, ...]:
    """The names of the columns, in order."""
    kind = layout.kind
    names = ["key", "value"]
    if kind.has_times:
        names.append("timestamp")
    if kind.is_windowed:
        names += ["window_start", "window_end"]
    return (*names,) if layout.is_global else (*names, "partition")


def rows_of(layout: StoreLayout, store: Any, partition: int) -> Iterator[StoreRow]:
    """The rows of one partition."""
    with store.entries() as entries:
        for key, held in entries:
            yield row_of(layout, key, held, partition)


def row_of(layout: StoreLayout, key: Any, held: Any, partition: int | None) -> StoreRow:
    """One entry: its key, and its value as the typed store holds it."""
    row: StoreRow = {"key": key, "value": held}
    if layout.kind.has_times:
        row |= {"value": held.value, "timestamp": held.timestamp}
    if layout.kind.is_windowed:
        row |= {"key": key.key, "window_start": key.window.start, "window_end": key.window.end}
    if not layout.is_global:
        row["partition"] = partition
    return row
