"""GROUP BY as steps: the columns that are needed, the groups, their aggregates, HAVING, and the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.sql.analysis.grouping import Grouped, Grouping
from headrace.sql.analysis.names import AGGREGATE_VARIABLE, INTERNAL_COLUMN, GeneratedNames
from headrace.sql.analysis.query import EVERYTHING, Analysis
from headrace.sql.analysis.result_columns import ResultColumns
from headrace.sql.analysis.typing import type_of
from headrace.sql.catalog.sources import WindowedKeys
from headrace.sql.errors import SqlError
from headrace.sql.formats import format_info as formats
from headrace.sql.functions.declare import Kind
from headrace.sql.functions.registry import Registry
from headrace.sql.planning import steps as s
from headrace.sql.planning.flow import Environment, Flow
from headrace.sql.planning.formats import KeyFormat, check_formats, internal_formats, key_format_for, wrapped_for
from headrace.sql.planning.projections import check_names_once, in_row, select, selections
from headrace.sql.planning.schemas import (
    aggregate_choices,
    row_types,
    schema,
    stored_aggregate,
    typed,
)
from headrace.sql.planning.sources import check_condition, filtered, needs_new_key
from headrace.sql.planning.windows import check_window
from headrace.sql.schema import ROWTIME, WINDOW_BOUNDS, Column, Schema
from headrace.sql.text.format import shown
from headrace.sql.tree import expressions as e
from headrace.sql.tree.queries import Duration, Emit, Selected, Window, WindowKind


def aggregated(flow: Flow, query: Analysis, target: Schema | None, sink: str | None, environment: Environment) -> Flow:
    """One row for each group."""
    by = tuple(map(query.scope.in_row, query.group_by))
    selected = selections(flow, [in_row(item, query) for item in query.items], query, target, environment)
    counted = query.scope.row_column(e.Column(ROWTIME, query.scope.sources[0].alias))
    assert isinstance(counted, e.Column)
    where, having = (None if each is None else query.scope.in_row(each) for each in (query.where, query.having))
    grouping = Grouping(by, query.window is not None, counted, environment.functions)
    grouped = grouping.analysed([each.expression for each in selected], where, having)
    result = _result_schema(flow.schema, by, selected, query, sink, environment)
    if having is not None:
        check_condition(having, flow.schema, "HAVING", environment)
    if sink is not None:
        _check_groups_selected(by, selected, sink, query.selected_at)
    prepared, calls = _prepared(flow, grouped, environment)
    groups = _grouped(prepared, by, environment)
    found = _with_aggregates(groups, grouped, calls, query, environment)
    variables = ResultColumns(Kind.AGGREGATE, environment.functions)
    outcome = [replace(each, expression=variables(each.expression)) for each in selected]
    if having is not None:
        found = filtered(found, variables(having), ("Aggregate", "HavingFilter"), environment)
    values = [each for each in outcome if sink is None or each.expression not in by]
    return select(found, result, values, ("Aggregate", "Project"), environment)


def _check_groups_selected(by: Sequence[e.Expression], selected: Sequence[Selected], sink: str, at: int) -> None:
    expressions = [each.expression for each in selected]
    missing = [each for each in by if each not in expressions]
    if EVERYTHING in missing:
        message = f"the query of {sink} has aggregates, and must have GROUP BY"
        raise SqlError("agg.needs-group", message, offset=at)
    if missing:
        names = " and ".join(map(shown, missing))
        message = f"the key of {sink} is missing: the projection must contain the grouping expression {names}"
        raise SqlError("select.key-missing", message, offset=at)


def _result_schema(
    columns: Schema,
    by: Sequence[e.Expression],
    selected: Sequence[Selected],
    query: Analysis,
    sink: str | None,
    environment: Environment,
) -> Schema:
    """The groups, named as they are selected, are the key; all else is the value."""
    known = schema(columns.key, [*columns.value, *_missing_bounds(columns, query)])
    types = [typed(each.expression, known, environment.functions) for each in selected]
    values = [Column(each.alias or "", type_) for each, type_ in zip(selected, types, strict=True)]
    check_names_once(selected)
    if sink is not None:
        values = [column for column, each in zip(values, selected, strict=True) if each.expression not in by]
        if not values:
            message = f"the projection of {sink} has no value columns, only keys"
            raise SqlError("select.no-values", message, offset=query.selected_at)
    generated = GeneratedNames(columns)
    names = [_key_name(each, selected, generated) for each in by]
    keys = [Column(name, typed(each, columns, environment.functions)) for name, each in zip(names, by, strict=True)]
    return schema(keys, values)


def _missing_bounds(columns: Schema, query: Analysis) -> list[Column]:
    if query.window is None:
        return []
    return [Column(name, type_) for name, type_ in WINDOW_BOUNDS.items() if name not in row_types(columns)]


def _key_name(by: e.Expression, selected: Sequence[Selected], generated: GeneratedNames) -> str:
    found = [each for each in selected if each.expression == by]
    names = [each.alias or "" for each in found]
    if len(names) > 1:
        listed = " and ".join(f"`{name}`" for name in names)
        message = f"the key column {shown(by)} is in the projection more than once, as {listed}"
        hint = "AS_VALUE copies a key column into the value."
        raise SqlError("select.key-twice", message, hint=hint, offset=found[1].expression.at)
    if names:
        return names[0]
    return by.name if isinstance(by, e.Column) else generated.of_expression(by)


# Steps


def _prepared(flow: Flow, grouped: Grouped, environment: Environment) -> tuple[Flow, tuple[e.Call, ...]]:
    """Only the columns that are needed, and the arguments of aggregates as columns; the aggregates over these."""
    names: dict[str, str] = {}
    needed: list[Selected] = []
    for expression in (*grouped.required, *grouped.arguments):
        text = shown(expression)
        if text not in names:
            names[text] = expression.name if isinstance(expression, e.Column) else f"{INTERNAL_COLUMN}{len(needed)}"
            needed.append(Selected(expression, names[text]))
    prepared = select(flow, schema(flow.schema.key, ()), needed, ("Aggregate", "Prepare"), environment)
    types = row_types(flow.schema)
    calls = []
    for call in grouped.aggregates:
        choice = environment.functions.choose(
            call.name, [type_of(each, types, environment.functions) for each in call.arguments], call.at
        )
        columns = len(call.arguments) - choice.init_count
        arguments = [e.Column(names[shown(each)], at=each.at) for each in call.arguments[:columns]]
        calls.append(e.Call(call.name, (*arguments, *call.arguments[columns:]), at=call.at))
    return prepared, tuple(calls)


def _grouped(flow: Flow, by: tuple[e.Expression, ...], environment: Environment) -> Flow:
    context = ("Aggregate", "GroupBy")
    if not flow.is_table and not needs_new_key(flow.schema, by):
        if flow.key_format.windows is not None:
            message = "a windowed source cannot be grouped by its own key"
            raise SqlError("join.windows", message, offset=by[0].at)
        stored = internal_formats(flow.key_format, flow.value_format)
        check_formats(flow.schema, stored)
        return flow.into(s.StreamGroupByKey(context, flow.step, stored), environment)
    key_format = flow.key_format
    if key_format.format.format is formats.NONE:
        key_format = KeyFormat(environment.default_key_format)
    if flow.is_table:
        key_format = replace(key_format, windows=None)
    key_format = key_format_for(key_format, [typed(each, flow.schema, environment.functions) for each in by])
    stored = internal_formats(key_format, flow.value_format)
    step = s.TableGroupBy if flow.is_table else s.StreamGroupBy
    found = flow.into(step(context, flow.step, stored, by), environment, key_format=key_format)
    check_formats(found.schema, stored)
    return found


def _with_aggregates(
    flow: Flow, grouped: Grouped, calls: tuple[e.Call, ...], query: Analysis, environment: Environment
) -> Flow:
    context, kept = ("Aggregate", "Aggregate"), tuple(column.name for column in grouped.required)
    window = query.window
    key_format = wrapped_for(flow.key_format, len(flow.schema.key))
    if window is not None:
        if flow.is_table:
            message = "a table cannot be cut into windows, only a stream"
            raise SqlError("agg.window-on-table", message, offset=window.at)
        key_format = replace(key_format, windows=windowed_keys(window, query.emit))
    stored = internal_formats(key_format, flow.value_format)
    step: s.StreamAggregate | s.StreamWindowedAggregate | s.TableAggregate
    if window is not None:
        is_final = query.emit is Emit.FINAL
        window = _with_grace(window) if is_final else window
        check_window(window)
        step = s.StreamWindowedAggregate(
            context,
            flow.step,
            stored,
            kept,
            calls,
            window,
            Emit.FINAL if is_final else None,
        )
        if window.kind is WindowKind.SESSION:
            without = _without("merge", step, flow.schema, environment.functions)
            _refuse("agg.session", without, "cannot merge two states, as WINDOW SESSION needs it", window.at)
    elif flow.is_table:
        step = s.TableAggregate(context, flow.step, stored, kept, calls)
        without = _without("undo", step, flow.schema, environment.functions)
        _refuse("agg.table", without, "cannot take back a row, so a table cannot be aggregated with it, only a stream")
    else:
        step = s.StreamAggregate(context, flow.step, stored, kept, calls)
    names = {f"{AGGREGATE_VARIABLE}{at}": f"what {shown(call)} keeps" for at, call in enumerate(grouped.aggregates)}
    check_formats(stored_aggregate(step, flow.schema, environment.functions), stored, names)
    return flow.into(step, environment, key_format=key_format, is_table=True)


def windowed_keys(window: Window, emit: Emit | None) -> WindowedKeys:
    """The windows that the keys of the result have."""
    size = None if window.kind is WindowKind.SESSION else window.size.ms
    return WindowedKeys(window.kind, size, emit or Emit.CHANGES)


def _with_grace(window: Window) -> Window:
    """Final results wait for nobody, unless they are told to."""
    return window if window.grace is not None else replace(window, grace=Duration(0, "MILLISECONDS"))


def _without(
    method: str, step: s.TableAggregate | s.StreamWindowedAggregate, columns: Schema, functions: Registry
) -> list[str]:
    """The aggregates that have no such method."""
    choices = aggregate_choices(step, columns, functions)
    return list(dict.fromkeys(each.overload.name for each in choices if not hasattr(each.overload.body, method)))


def _refuse(code: str, aggregates: Sequence[str], why: str, at: int | None = None) -> None:
    if aggregates:
        raise SqlError(code, f"{', '.join(aggregates)} {why}", offset=at)
