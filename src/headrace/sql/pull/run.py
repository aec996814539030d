"""Answers of pull queries: the rows of a store, through the steps after it, the condition and the projection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from headrace.records import ValueAndTimestamp
from headrace.sql.build.aggregates import folding
from headrace.sql.build.context import BuildContext
from headrace.sql.build.rows import KeyColumns, Row
from headrace.sql.compile import predicate, projection
from headrace.sql.formats.format_info import KAFKA
from headrace.sql.planning import steps as s
from headrace.sql.planning.schemas import schema_of
from headrace.sql.planning.steps import Step
from headrace.sql.pull.plan import PullPlan
from headrace.sql.pull.stores import KeptRows
from headrace.sql.pull.where import KeyLookup, RangeScan
from headrace.sql.pull.windows import WindowBounds
from headrace.sql.tree.queries import WindowKind
from headrace.windows import MAX_TIMESTAMP, TimeWindow, Windowed


@dataclass(frozen=True, slots=True)
class Kept:
    """A row of a store. The key is ``Windowed`` where there are windows."""

    key: Any
    row: Row
    time: int


Change: TypeAlias = Callable[[Kept], Row | None]
"""What a step makes of a row; None where the row is left out."""


class PullAnswers:
    """A pull query that can be asked of a store, again and again."""

    def __init__(self, plan: PullPlan, context: BuildContext, changes: Sequence[Change] | None = None) -> None:
        """``changes`` are those of the table, where they are known."""
        columns = plan.row.value
        self._plan = plan
        self._changes = changes_of(plan.rows, context) if changes is None else changes
        self._keys = KeyColumns(len(plan.source.schema.key), plan.rows.is_windowed)
        self._log = context.log.logger(f"pull.{plan.query_id}")
        self._holds = None if plan.condition is None else predicate(plan.condition, columns, context.functions)
        self._project = projection([each.expression for each in plan.projection], columns, context.functions)

    def of(self, store: Any) -> Iterator[Row]:
        """The rows of the answer. The store is that of the plan, over all partitions."""
        rows = (row for kept in self._read(store) if (row := self._row(kept)) is not None)
        found = (self._project(row, self._log) for row in rows if self._passes(row))
        return islice(found, self._plan.limit)

    def _passes(self, row: Row) -> bool:
        return self._holds is None or self._holds(row, self._log)

    def _row(self, kept: Kept) -> Row | None:
        """The columns that condition and projection read."""
        for change in self._changes:
            row = change(kept)
            if row is None:
                return None
            kept = Kept(kept.key, row, kept.time)
        return [*kept.row, kept.time, *self._keys(kept.key)]

    def _read(self, store: Any) -> Iterator[Kept]:
        lookup = self._plan.lookup
        if isinstance(lookup, tuple):
            return (kept for each in lookup for kept in self._of_key(store, each))
        # Only bytes of the format KAFKA are in the order of their texts.
        if isinstance(lookup, RangeScan) and self._plan.source.key_format.format is KAFKA:
            bound = (lookup.value,)
            return _all(store.range(*((None, bound) if lookup.operator in {"<", "<="} else (bound, None))))
        if self._is_session:
            return _all(store.fetch_keys(None, None))
        return _all(store.all())

    def _of_key(self, store: Any, lookup: KeyLookup) -> Iterator[Kept]:
        if not self._plan.rows.is_windowed:
            found = store.get(lookup.key)
            return iter(() if found is None else (Kept(lookup.key, found.value, found.timestamp),))
        kept = _all(store.fetch(lookup.key)) if self._is_session else self._windows_of(store, lookup.key)
        return _in_bounds(kept, lookup.windows or WindowBounds())

    def _windows_of(self, store: Any, key: tuple[Any, ...]) -> Iterator[Kept]:
        windows = self._plan.source.windows
        assert windows is not None
        assert windows.size_ms is not None
        with store.fetch_range(key, 0, MAX_TIMESTAMP) as found:
            for start, held in found:
                window = TimeWindow(start, min(start + windows.size_ms, MAX_TIMESTAMP))
                yield Kept(Windowed(key, window), held.value, held.timestamp)

    @property
    def _is_session(self) -> bool:
        windows = self._plan.source.windows
        return windows is not None and windows.kind is WindowKind.SESSION


def _in_bounds(found: Iterator[Kept], bounds: WindowBounds) -> Iterator[Kept]:
    return (kept for kept in found if bounds.contains(kept.key.window.start, kept.key.window.end))


def _all(found: Any) -> Iterator[Kept]:
    """The time of a session is when it ended: its store keeps no other."""
    with found:
        for key, held in found:
            if isinstance(held, ValueAndTimestamp):
                yield Kept(key, held.value, held.timestamp)
            else:
                yield Kept(key, held, key.window.end)


def changes_of(rows: KeptRows, context: BuildContext) -> list[Change]:
    """What happens to each row of a table between its store and whoever asks, whatever is asked."""
    return [_change(step, context) for step in rows.steps]


def _change(step: Step, context: BuildContext) -> Change:
    match step:
        case s.TableSource():
            keys = KeyColumns(len(step.source_schema.key))
            # A store has the values, then partition and offset; a row has its time before these.
            return lambda kept: [*kept.row[:-2], kept.time, *kept.row[-2:], *keys(kept.key)]
        case s.StreamWindowedAggregate():
            result = folding(step, schema_of(step.source, context.functions), context).result
            return lambda kept: [*result(kept.key, kept.row), kept.key.window.start, kept.key.window.end]
        case s.StreamAggregate() | s.TableAggregate():
            result = folding(step, schema_of(step.source, context.functions), context).result
            return lambda kept: result(kept.key, kept.row)
        case s.TableFilter():
            columns, log = schema_of(step.source, context.functions).value, context.logger(step)
            passes = predicate(step.filter_expression, columns, context.functions)
            return lambda kept: kept.row if passes(kept.row, log) else None
        case s.TableSelect():
            columns, log = schema_of(step.source, context.functions).value, context.logger(step)
            project = projection([each.expression for each in step.select_expressions], columns, context.functions)
            return lambda kept: project(kept.row, log)
        case _:
            message = f"{step.name} keeps no rows"
            raise AssertionError(message)
