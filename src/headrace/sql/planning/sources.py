"""Sources as steps, and what is done to rows one by one: WHERE, PARTITION BY, table functions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.sql.analysis.query import Analysis
from headrace.sql.analysis.scope import Aliased
from headrace.sql.analysis.timestamps import with_times
from headrace.sql.errors import SqlError
from headrace.sql.planning import steps as s
from headrace.sql.planning.flow import Environment, Flow, NeededKey, star_columns
from headrace.sql.planning.formats import KeyFormat, check_formats, internal_formats, key_format_for, source_key_format
from headrace.sql.planning.schemas import rekeyed, row_schema, stored_source, typed
from headrace.sql.schema import Schema
from headrace.sql.text.format import shown
from headrace.sql.tree.expressions import Column, Expression
from headrace.sql.tree.statements import SourceKind
from headrace.sql.tree.types import BOOLEAN


def source_flow(aliased: Aliased, context: str) -> Flow:
    """The rows of a source."""
    source = aliased.source
    key_format = source_key_format(source)
    schema = row_schema(source.schema, is_windowed=source.windows is not None)
    needed = tuple((Column(each.name, aliased.alias), Column(each.name)) for each in source.schema.key)
    return Flow(
        _source_step(aliased, (context, "Source"), key_format),
        schema,
        key_format,
        source.value_format,
        source.kind is SourceKind.TABLE,
        star_columns(schema, aliased.alias),
        NeededKey("key column", needed, " and ".join(shown(own) for _, own in needed)),
    )


def _source_step(aliased: Aliased, context: tuple[str, ...], key_format: KeyFormat) -> s.SourceStep:
    source = aliased.source
    formats = s.Formats(source.key_format, source.value_format)
    given: dict[str, Any] = {
        "context": context,
        "topic_name": source.topic,
        "formats": formats,
        "source_schema": source.schema,
        "timestamp_column": source.timestamp,
    }
    is_table = source.kind is SourceKind.TABLE
    if source.windows is not None:
        step = s.WindowedTableSource if is_table else s.WindowedStreamSource
        return step(window_info=source.windows, **given)
    if is_table:
        stored = internal_formats(key_format, source.value_format)
        check_formats(stored_source(source.schema), stored)
        return s.TableSource(state_store_formats=stored, **given)
    return s.StreamSource(**given)


def filtered(flow: Flow, condition: Expression, context: tuple[str, ...], environment: Environment) -> Flow:
    """Only rows for which the condition is true."""
    condition = with_times(condition)
    step = s.TableFilter if flow.is_table else s.StreamFilter
    return flow.into(step(context, flow.step, condition), environment)


def check_condition(condition: Expression, columns: Schema, clause: str, environment: Environment) -> None:
    """A condition is a BOOLEAN."""
    found = typed(with_times(condition), columns, environment.functions)
    if found != BOOLEAN:
        message = f"{shown(condition)} in {clause} is a condition, and must be BOOLEAN, not {found}"
        raise SqlError("type.boolean", message, offset=condition.at)


def partitioned(flow: Flow, query: Analysis, environment: Environment) -> Flow:
    """PARTITION BY: rows with another key."""
    expressions = tuple(map(query.scope.in_row, query.partition_by))
    schema = rekeyed(flow.schema, expressions, environment.functions)
    alias = None if query.scope.is_join else query.scope.sources[0].alias
    needed = () if query.is_keyless else tuple((each,) for each in expressions)
    changed = rekeyed_flow(flow, expressions, ("PartitionBy",), environment)
    return Flow(
        changed.step,
        schema,
        changed.key_format,
        flow.value_format,
        flow.is_table,
        star_columns(schema, alias),
        NeededKey("partitioning expression", needed, " and ".join(map(shown, query.partition_by))),
    )


def rekeyed_flow(
    flow: Flow,
    expressions: tuple[Expression, ...],
    context: tuple[str, ...],
    environment: Environment,
    *,
    key_format: KeyFormat | None = None,
    is_forced: bool = False,
) -> Flow:
    """Rows with another key, or another format of it; the flow itself where neither changes and nothing forces it."""
    is_needed = needs_new_key(flow.schema, expressions)
    new_format = key_format is not None and not key_format.same_as(flow.key_format)
    if not (is_needed or new_format or is_forced):
        return flow
    if flow.is_table:
        _check_table_key(flow, expressions, is_needed)
    if flow.key_format.windows is not None and (flow.is_table or is_needed or not is_forced):
        message = "a windowed source cannot be given another key or another format of its key"
        raise SqlError("join.windows", message, offset=expressions[0].at)
    types = [column.type for column in rekeyed(flow.schema, expressions, environment.functions).key]
    changed = key_format or flow.key_format
    changed = key_format_for(changed, types) if types else changed
    step: s.Step
    if flow.is_table:
        formats = internal_formats(changed, flow.value_format)
        step = s.TableSelectKey(context, flow.step, formats, expressions)
    else:
        step = s.StreamSelectKey(context, flow.step, expressions)
    found = flow.into(step, environment, key_format=changed)
    if flow.is_table:
        check_formats(found.schema, internal_formats(changed, flow.value_format))
    return found


def needs_new_key(columns: Schema, expressions: tuple[Expression, ...]) -> bool:
    """Whether rows must move: all but partitioning by the one key column that there is."""
    match expressions:
        case (Column(name=name),) if len(columns.key) == 1:
            return columns.key[0].name != name
        case _:
            return True


def _check_table_key(flow: Flow, expressions: tuple[Expression, ...], is_needed: bool) -> None:
    keys = ", ".join(f"`{column.name}`" for column in flow.schema.key)
    if is_needed or len(flow.schema.key) > 1:
        wanted = ", ".join(map(shown, expressions))
        message = f"a table keeps its key: it is {keys}, and cannot become {wanted}"
        raise SqlError("join.key", message, hint="Join on the key of the table.", offset=expressions[0].at)


def flat_mapped(flow: Flow, query: Analysis, environment: Environment) -> Flow:
    """Rows for each row: the results of table functions."""
    calls = tuple(
        replace(call, arguments=tuple(map(query.scope.in_row, call.arguments))) for call in query.table_functions
    )
    return flow.into(s.StreamFlatMap(("FlatMap",), flow.step, calls), environment)
