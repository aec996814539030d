"""SELECT as a step: the columns of the result, which of them are the key, and which are left out of the value."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.sql.analysis.projection import contents
from headrace.sql.analysis.query import Analysis
from headrace.sql.analysis.result_columns import ResultColumns
from headrace.sql.errors import SqlError
from headrace.sql.functions.declare import Kind
from headrace.sql.planning import steps as s
from headrace.sql.planning.flow import Environment, Flow
from headrace.sql.planning.formats import check_formats, internal_formats
from headrace.sql.planning.implicit import as_target
from headrace.sql.planning.schemas import schema as schema_of_columns
from headrace.sql.planning.schemas import typed, without_row_columns
from headrace.sql.schema import WINDOW_BOUNDS, Column, Schema
from headrace.sql.text.format import shown
from headrace.sql.tree import expressions as e
from headrace.sql.tree.queries import AllColumns, AllFields, Selected, SelectItem
from headrace.sql.tree.types import Struct


def projected(flow: Flow, query: Analysis, target: Schema | None, sink: str | None, environment: Environment) -> Flow:
    """The last step of a query without aggregates."""
    items = tuple(in_row(item, query) for item in query.items)
    selected = selections(flow, items, query, target, environment)
    check_names_once(selected)
    schema = _projection_schema(flow.schema, selected, environment)
    if sink is None:
        key, values = flow.schema.key, selected
        schema = schema_of_columns(key, schema.columns)
    else:
        values = [each for each in selected if not _leaves_value(each, flow.schema)]
        _check_keys_once(selected, flow.schema)
        schema = without_row_columns(schema)
        if not schema.value:
            message = f"the projection of {sink} has no value columns, only keys"
            raise SqlError("select.no-values", message, offset=query.selected_at)
        flow.needed_key.check(contents(items), sink, query.selected_at)
    return select(flow, schema, values, ("Project",), environment)


def select(
    flow: Flow, schema: Schema, values: Sequence[Selected], context: tuple[str, ...], environment: Environment
) -> Flow:
    """A step that makes these columns of each row."""
    names = tuple(column.name for column in schema.key)
    step: s.Step
    if flow.is_table:
        formats = internal_formats(flow.key_format, flow.value_format)
        step = s.TableSelect(context, flow.step, names, tuple(values), formats)
        found = flow.into(step, environment)
        check_formats(found.schema, formats)
        return found
    step = s.StreamSelect(context, flow.step, names, tuple(values))
    return flow.into(step, environment)


def in_row(item: SelectItem, query: Analysis) -> SelectItem:
    """The item in names of rows."""
    match item:
        case Selected():
            return Selected(query.scope.in_row(item.expression), item.alias)
        case AllFields():
            return AllFields(query.scope.in_row(item.base))
        case _:
            return item


def selections(
    flow: Flow, items: Sequence[SelectItem], query: Analysis, target: Schema | None, environment: Environment
) -> list[Selected]:
    """What is selected, column by column; literals take the type of the column that they are inserted into."""
    columns = ResultColumns(Kind.TABLE, environment.functions)
    found: list[Selected] = []
    for position, item in enumerate(items):
        if isinstance(item, AllColumns):
            found += [
                Selected(e.Column(each.name, at=item.at), each.name)
                for each in flow.star
                if item.source in {None, each.source}
            ]
        elif isinstance(item, AllFields):
            found += _fields(item.base, flow.schema, environment)
        else:
            expression = _resolved(item.expression, query, flow)
            expression = columns(expression) if query.table_functions else expression
            found.append(Selected(as_target(expression, target, position), item.alias))
    return found


def _resolved(expression: e.Expression, query: Analysis, flow: Flow) -> e.Expression:
    """What PARTITION BY made a column, is that column from then on."""
    if query.group_by or query.is_keyless:
        return expression
    partition_by = [query.scope.in_row(each) for each in query.partition_by]
    if expression in partition_by:
        return e.Column(flow.schema.key[partition_by.index(expression)].name, at=expression.at)
    return expression


def _fields(base: e.Expression, columns: Schema, environment: Environment) -> list[Selected]:
    type_ = typed(base, columns, environment.functions)
    if not isinstance(type_, Struct):
        message = f"{shown(base)}->* needs a STRUCT, and {shown(base)} is {type_}"
        raise SqlError("type.struct", message, offset=base.at)
    return [Selected(e.Dereference(base, each.name, at=base.at), each.name) for each in type_.fields]


def _projection_schema(columns: Schema, selected: Sequence[Selected], environment: Environment) -> Schema:
    """Keys in the order of the source, whatever the order in the projection is."""
    keys = [column.name for column in columns.key]
    chosen = [each for each in selected if isinstance(each.expression, e.Column) and each.expression.name in keys]
    in_order = sorted(chosen, key=lambda each: keys.index(shown_name(each)))
    return schema_of_columns(
        (_column(each, columns, environment) for each in in_order),
        (_column(each, columns, environment) for each in selected if each not in chosen),
    )


def shown_name(selected: Selected) -> str:
    """The name of a selected column."""
    assert isinstance(selected.expression, e.Column)
    return selected.expression.name


def _column(selected: Selected, columns: Schema, environment: Environment) -> Column:
    return Column(selected.alias or "", typed(selected.expression, columns, environment.functions))


def _leaves_value(selected: Selected, columns: Schema) -> bool:
    """Keys are in the key, and bounds of windows that were given no name of their own are, too."""
    if not isinstance(selected.expression, e.Column):
        return False
    name = selected.expression.name
    return (name in WINDOW_BOUNDS and selected.alias == name) or name in {column.name for column in columns.key}


def check_names_once(selected: Sequence[Selected]) -> None:
    """A name is that of one column, of the key or of the value."""
    seen: set[str] = set()
    for each in selected:
        name = each.alias or ""
        if name in seen:
            message = f"there are two columns `{name}` in the projection"
            raise SqlError("name.duplicate", message, offset=each.expression.at)
        seen.add(name)


def _check_keys_once(selected: Sequence[Selected], columns: Schema) -> None:
    for key in columns.key:
        found = [each for each in selected if each.expression == e.Column(key.name)]
        aliases = {each.alias or "" for each in found}
        if len(aliases) > 1:
            names = " and ".join(f"`{alias}`" for alias in sorted(aliases))
            message = f"the key column `{key.name}` is in the projection more than once, as {names}"
            hint = f"AS_VALUE({key.name}) copies a key column into the value."
            raise SqlError("select.key-twice", message, hint=hint, offset=found[-1].expression.at)
