"""One row for each group: aggregates side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from headrace.dsl.windowed import SessionWindowedKStream
from headrace.sql.build.context import BuildContext
from headrace.sql.build.processors import TableRows
from headrace.sql.build.rows import Row, WithBounds
from headrace.sql.build.views import StreamGroupView, TableGroupView, TableView
from headrace.sql.catalog.sources import WindowedKeys
from headrace.sql.functions.plain import PlainAggregate
from headrace.sql.functions.registry import Choice
from headrace.sql.planning import steps as s
from headrace.sql.planning.schemas import aggregate_choices, stored_aggregate
from headrace.sql.planning.windows import windows_of
from headrace.sql.schema import Schema
from headrace.sql.tree import expressions as e
from headrace.sql.tree.queries import Emit, WindowKind
from headrace.windows import EmitStrategy

AggregateStep: TypeAlias = s.StreamAggregate | s.StreamWindowedAggregate | s.TableAggregate


def stream(step: s.StreamAggregate, below: StreamGroupView, context: BuildContext) -> TableView:
    """A group's row, kept in a store."""
    folded = folding(step, below.schema, context)
    serdes = context.serdes(stored_aggregate(step, below.schema, context.functions), step.internal_formats)
    table = below.group.aggregate(folded.initial, folded.add, store=f"{step.name}-Materialize", **serdes)
    result = table.transform_values(partial(TableRows, folded.result), name=f"{step.name}-ToOutputSchema")
    return TableView(result, context.schema(step, below.schema))


def table(step: s.TableAggregate, below: TableGroupView, context: BuildContext) -> TableView:
    """A group's row; rows that leave the group are undone."""
    folded = folding(step, below.schema, context)
    serdes = context.serdes(stored_aggregate(step, below.schema, context.functions), step.internal_formats)
    table = below.group.aggregate(folded.initial, folded.add, folded.undo, store=f"{step.name}-Materialize", **serdes)
    result = table.transform_values(partial(TableRows, folded.result), name=f"{step.name}-ToOutputSchema")
    return TableView(result, context.schema(step, below.schema))


def windowed(step: s.StreamWindowedAggregate, below: StreamGroupView, context: BuildContext) -> TableView:
    """A row for each group and window."""
    folded, window = folding(step, below.schema, context), step.window_expression
    keywords: dict[str, Any] = {
        "store": f"{step.name}-Materialize",
        "retention": None if window.retention is None else window.retention.ms,
        **context.serdes(stored_aggregate(step, below.schema, context.functions), step.internal_formats),
    }
    group = below.group.windowed_by(windows_of(window))
    if step.emit is Emit.FINAL:
        group = group.emit_strategy(EmitStrategy.on_window_close())
    if isinstance(group, SessionWindowedKStream):
        table = group.aggregate(folded.initial, folded.add, folded.merge, **keywords)
    else:
        table = group.aggregate(folded.initial, folded.add, **keywords)
    result = table.transform_values(partial(TableRows, folded.result), name=f"{step.name}-ToOutputSchema")
    bounded = result.transform_values(partial(TableRows, WithBounds()), name=f"{step.name}-WindowSelect")
    size = None if window.kind is WindowKind.SESSION else window.size.ms
    keys = WindowedKeys(window.kind, size, step.emit or Emit.CHANGES)
    return TableView(bounded, context.schema(step, below.schema), keys)


def folding(step: AggregateStep, below: Schema, context: BuildContext) -> Folding:
    """How the rows of a group become one."""
    names = [column.name for column in below.value]
    choices = aggregate_choices(step, below, context.functions)
    aggregates = tuple(
        _aggregate(call, choice, names, context)
        for call, choice in zip(step.aggregation_functions, choices, strict=True)
    )
    return Folding(tuple(names.index(name) for name in step.non_aggregate_columns), aggregates)


def _aggregate(call: e.Call, choice: Choice, names: Sequence[str], context: BuildContext) -> Aggregate:
    first_init = len(call.arguments) - choice.init_count
    columns = [each.name for each in call.arguments[:first_init] if isinstance(each, e.Column)]
    assert len(columns) == first_init, f"{call.name} is called with expressions"
    given: dict[str, Any] = {}
    if choice.overload.is_typed:
        given["types"] = choice.types
    if choice.overload.is_configured:
        given["settings"] = _settings(call.name, context)
    function = choice.overload.body(*map(_literal, call.arguments[first_init:]), **given)
    if choice.overload.is_plain:
        types = choice.types[: len(choice.types) - choice.init_count]
        function = PlainAggregate(function, types, choice.stored_type, choice.result)
    return Aggregate(function, tuple(names.index(name) for name in columns))


def _literal(argument: e.Expression) -> Any:
    match argument:
        case e.NullLiteral():
            return None
        case e.Signed(sign, value):
            return -_literal(value) if sign == "-" else _literal(value)
        case _:
            return argument.value  # type: ignore[union-attr]


def _settings(name: str, context: BuildContext) -> dict[str, Any]:
    """Those of one function, by their names behind its own; one for all functions counts for this one, too."""
    found: dict[str, Any] = {}
    for prefix in ("ksql.functions._global_.", f"ksql.functions.{name.lower()}."):
        found |= {
            key.lower().removeprefix(prefix): value
            for key, value in context.settings.items()
            if key.lower().startswith(prefix)
        }
    return found


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate function, and where in the row its arguments are."""

    function: Any
    columns: tuple[int, ...]

    def value(self, row: Row) -> Any:
        """What is aggregated of the row: a tuple where there are several arguments."""
        if len(self.columns) == 1:
            return row[self.columns[0]]
        return tuple(row[at] for at in self.columns)

    def result(self, state: Any) -> Any:
        """What the state comes to."""
        of_state = getattr(self.function, "result", None)
        return state if of_state is None else of_state(state)


@dataclass(frozen=True, slots=True)
class Folding:
    """The rows of a group as one: columns as they were last, then the states of aggregates."""

    kept: tuple[int, ...]
    aggregates: tuple[Aggregate, ...]

    def initial(self) -> Row:
        """The row of an empty group."""
        return [*[None] * len(self.kept), *[each.function.initial() for each in self.aggregates]]

    def add(self, key: Any, row: Row, state: Row) -> Row:
        """The state with one more row."""
        kept = [row[at] for at in self.kept]
        states = state[len(kept) :]
        return kept + [
            each.function.add(each.value(row), old) for each, old in zip(self.aggregates, states, strict=True)
        ]

    def undo(self, key: Any, row: Row, state: Row) -> Row:
        """The state as if a row had never been there."""
        kept = [row[at] for at in self.kept]
        states = state[len(kept) :]
        return kept + [
            each.function.undo(each.value(row), old) for each, old in zip(self.aggregates, states, strict=True)
        ]

    def merge(self, key: Any, left: Row, right: Row) -> Row:
        """The state of two sessions that became one."""
        count = len(self.kept)
        kept = [second if first is None else first for first, second in zip(left[:count], right[:count], strict=True)]
        pairs = zip(self.aggregates, left[count:], right[count:], strict=True)
        return kept + [each.function.merge(first, second) for each, first, second in pairs]

    def result(self, key: Any, state: Row) -> Row:
        """The row that the state comes to."""
        count = len(self.kept)
        results = zip(self.aggregates, state[count:], strict=True)
        return state[:count] + [each.result(of_one) for each, of_one in results]
