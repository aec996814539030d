"""The columns of the rows between steps.

A row has every column that an expression may name: values, headers, pseudo columns, and the key once more. What is
written to a topic or kept in a store is often less; that is said where it is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headrace.sql.analysis.names import AGGREGATE_VARIABLE, TABLE_FUNCTION_COLUMN, GeneratedNames
from headrace.sql.analysis.typing import type_of
from headrace.sql.errors import SqlError
from headrace.sql.functions.registry import Choice, Registry
from headrace.sql.planning import steps as s
from headrace.sql.planning.steps import Step, inputs
from headrace.sql.schema import PSEUDO_COLUMNS, RESERVED_COLUMNS, ROWTIME, WINDOW_BOUNDS, Column, Part, Schema
from headrace.sql.tree import expressions as e
from headrace.sql.tree.types import SqlType


def schema_of(step: Step, functions: Registry) -> Schema:
    """The columns of the rows that come out of the step: its key, and the row in its order."""
    return step_schema(step, [schema_of(each, functions) for each in inputs(step)], functions)


def step_schema(step: Step, sources: Sequence[Schema], functions: Registry) -> Schema:
    """The same, where the schemas of the steps below are known."""
    match step:
        case s.StreamSource() | s.TableSource():
            return row_schema(step.source_schema)
        case s.WindowedStreamSource() | s.WindowedTableSource():
            return row_schema(step.source_schema, is_windowed=True)
        case s.StreamSelect() | s.TableSelect():
            return _selected(step, sources[0], functions)
        case s.StreamFlatMap():
            return _flat_mapped(step, sources[0], functions)
        case s.StreamSelectKey() | s.TableSelectKey():
            return rekeyed(sources[0], step.key_expression, functions)
        case s.StreamGroupBy() | s.TableGroupBy():
            return _grouped(step, sources[0], functions)
        case s.StreamAggregate() | s.TableAggregate() | s.StreamWindowedAggregate():
            return _aggregated(step, sources[0], functions)
        case s.StreamStreamJoin() | s.StreamTableJoin() | s.TableTableJoin():
            return _joined(step.key_col_name, sources[0], sources[1])
        case s.ForeignKeyTableTableJoin():
            return schema(sources[0].key, [*sources[0].value, *sources[1].value])
        case _:
            return sources[0]


def schema(key: Iterable[Column], value: Iterable[Column]) -> Schema:
    """Key columns, then those of the value; an error for a name that is there twice on one side."""
    found = tuple(Column(each.name, each.type, Part.KEY) for each in key)
    found += tuple(Column(each.name, each.type) for each in value)
    seen: set[tuple[str, Part]] = set()
    for column in found:
        if (column.name, column.part) in seen:
            side = "key" if column.part is Part.KEY else "value"
            raise SqlError("name.duplicate", f"there are two {side} columns `{column.name}`")
        seen.add((column.name, column.part))
    return Schema(found)


def row_types(columns: Schema) -> Mapping[str, SqlType]:
    """The types of the columns that an expression may name."""
    return columns.value_types


def row_schema(declared: Schema, *, is_windowed: bool = False) -> Schema:
    """A source's rows: values, headers, pseudo columns, keys, and the bounds of its windows."""
    bounds = _columns(WINDOW_BOUNDS) if is_windowed else []
    own = _own_columns(declared)
    return schema(declared.key, [*own, *_columns(PSEUDO_COLUMNS), *declared.key, *bounds])


def without_row_columns(columns: Schema) -> Schema:
    """The columns that are a result's own: no pseudo columns, no bounds, no key once more."""
    return schema(columns.key, _own_columns(columns))


def stored_source(declared: Schema) -> Schema:
    """What the store of a table source keeps: ROWTIME is the store's own, keys are its keys."""
    kept = {name: type_ for name, type_ in PSEUDO_COLUMNS.items() if name != ROWTIME}
    return schema(declared.key, [*_own_columns(declared), *_columns(kept)])


def stored_aggregate(
    step: s.StreamAggregate | s.StreamWindowedAggregate | s.TableAggregate, source: Schema, functions: Registry
) -> Schema:
    """What the store of an aggregation keeps: its columns, and the state of each aggregate."""
    types = [each.stored_type for each in aggregate_choices(step, source, functions)]
    return schema(source.key, _aggregate_columns(step, source, types))


def aggregate_choices(
    step: s.StreamAggregate | s.StreamWindowedAggregate | s.TableAggregate, source: Schema, functions: Registry
) -> list[Choice]:
    """The aggregates that the step calls."""
    types = row_types(source)
    return [
        functions.choose(call.name, [type_of(each, types, functions) for each in call.arguments], call.at)
        for call in step.aggregation_functions
    ]


def rekeyed(source: Schema, expressions: Sequence[e.Expression], functions: Registry) -> Schema:
    """Rows by another key; a key that is no column of the row becomes one, at its end."""
    null = next((each for each in expressions if isinstance(each, e.NullLiteral)), None)
    if null is not None:
        if len(expressions) > 1:
            message = "PARTITION BY several columns cannot have NULL among them"
            raise SqlError("type.null", message, offset=null.at)
        return schema((), source.value)
    key = _key_columns(source, expressions, functions)
    added = [column for column, each in zip(key, expressions, strict=True) if not isinstance(each, e.Column)]
    return schema(key, [*source.value, *added])


def typed(expression: e.Expression, columns: Schema, functions: Registry) -> SqlType:
    """The type of an expression over such rows; an error for one that has none."""
    found = type_of(expression, row_types(columns), functions)
    if found is None:
        message = "the type of NULL is not known here"
        raise SqlError("type.null", message, hint="CAST it: CAST(NULL AS STRING).", offset=expression.at)
    return found


def _key_columns(source: Schema, expressions: Sequence[e.Expression], functions: Registry) -> list[Column]:
    names = GeneratedNames(source.columns)
    return [
        Column(each.name if isinstance(each, e.Column) else names.of_expression(each), typed(each, source, functions))
        for each in expressions
    ]


def _selected(step: s.StreamSelect | s.TableSelect, source: Schema, functions: Registry) -> Schema:
    names = step.key_column_names or tuple(column.name for column in source.key)
    key = [Column(name, column.type) for name, column in zip(names, source.key, strict=False)]
    if isinstance(step, s.StreamSelect) and step.selected_keys is not None:
        old = [column.name for column in source.key]
        key = [column for column, name in zip(key, old, strict=True) if name in step.selected_keys]
    value = [Column(each.alias or "", typed(each.expression, source, functions)) for each in step.select_expressions]
    return schema(key, value)


def _flat_mapped(step: s.StreamFlatMap, source: Schema, functions: Registry) -> Schema:
    added = [
        Column(f"{TABLE_FUNCTION_COLUMN}{number}", typed(call, source, functions))
        for number, call in enumerate(step.table_functions)
    ]
    return schema(source.key, [*source.value, *added])


def _grouped(step: s.StreamGroupBy | s.TableGroupBy, source: Schema, functions: Registry) -> Schema:
    return schema(_key_columns(source, step.group_by_expressions, functions), source.value)


def _aggregated(
    step: s.StreamAggregate | s.StreamWindowedAggregate | s.TableAggregate, source: Schema, functions: Registry
) -> Schema:
    types = [each.result for each in aggregate_choices(step, source, functions)]
    bounds = _columns(WINDOW_BOUNDS) if isinstance(step, s.StreamWindowedAggregate) else []
    return schema(source.key, [*_aggregate_columns(step, source, types), *bounds])


def _aggregate_columns(
    step: s.StreamAggregate | s.StreamWindowedAggregate | s.TableAggregate, source: Schema, types: Iterable[SqlType]
) -> list[Column]:
    known = row_types(source)
    kept = [Column(name, known[name]) for name in step.non_aggregate_columns]
    return kept + [Column(f"{AGGREGATE_VARIABLE}{number}", type_) for number, type_ in enumerate(types)]


def _joined(key: str, left: Schema, right: Schema) -> Schema:
    value = [*left.value, *right.value]
    key_column = Column(key, left.key[0].type)
    return schema([key_column], value if any(column.name == key for column in value) else [*value, key_column])


def _own_columns(declared: Schema) -> list[Column]:
    keys = {column.name for column in declared.key}
    own = [column for column in declared.value if column.name not in keys and column.name not in RESERVED_COLUMNS]
    return [*own, *declared.headers]


def _columns(types: Mapping[str, SqlType]) -> list[Column]:
    return [Column(name, type_) for name, type_ in types.items()]
