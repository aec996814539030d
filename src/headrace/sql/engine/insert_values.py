"""INSERT VALUES: a row of expressions to a record."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.clock import now_ms
from headrace.errors import SerializationError
from headrace.near_names import did_you_mean
from headrace.serde.registry import SchemaRegistry
from headrace.sql.analysis.clauses import check_calls
from headrace.sql.analysis.typing import type_of
from headrace.sql.catalog.sources import Source
from headrace.sql.compile import value
from headrace.sql.engine.ports import NewRecord
from headrace.sql.errors import SqlError
from headrace.sql.formats.inserting import inserting_formats
from headrace.sql.formats.rows import key_serde, row_serde
from headrace.sql.functions.registry import Registry
from headrace.sql.processing_log import cause_of
from headrace.sql.schema import PSEUDO_COLUMNS, ROWTIME, Column, Part
from headrace.sql.tree.expressions import Expression
from headrace.sql.tree.names import quoted
from headrace.sql.tree.statements import InsertValues, SourceKind
from headrace.sql.tree.types import BIGINT
from headrace.sql.tree.walking import columns_of
from headrace.sql.types.literals import literal_as


def inserted(
    statement: InsertValues, source: Source, functions: Registry, registry: SchemaRegistry | None
) -> NewRecord:
    """The record that the statement writes to the topic of ``source``; columns that it does not name are null."""
    _check_target(source)
    given = _given(statement, source)
    places = dict(zip(statement.columns, statement.columns_at, strict=True))
    columns = {name: _column(source, name, places.get(name)) for name in given}
    values = {name: _value(each, columns[name], functions) for name, each in given.items()}
    _check_key(source, values)
    key = tuple(values.get(column.name) for column in source.schema.key)
    row = [values.get(column.name) for column in source.schema.value]
    now = values.get(ROWTIME)
    if now is not None and now < 0:
        message = f"ROWTIME counts milliseconds since 1970 and cannot be negative ({now})"
        raise SqlError("insert.values", message, offset=given[ROWTIME].at)
    key_format, value_format = inserting_formats(source, registry)
    keys = key_serde(source.schema.key, key_format, registry=registry)
    rows = row_serde(source.schema.value, value_format, registry=registry)
    try:
        return NewRecord(
            keys.serialize(source.topic, key) if source.schema.key else None,
            rows.serialize(source.topic, row),
            now_ms() if now is None else now,
        )
    except SerializationError as error:
        raise SqlError("insert.values", error.message, detail=error.detail, hint=error.hint) from error


def _check_target(source: Source) -> None:
    why = None
    if source.windows is not None:
        why = "its keys are windowed"
    elif source.is_read_only:
        why = f"it is a SOURCE {source.kind.value}, which is read only"
    elif source.schema.headers:
        why = "it has header columns"
    if why is not None:
        message = f"nothing can be inserted into {source.name}: {why}"
        raise SqlError("insert.target", message)


def _given(statement: InsertValues, source: Source) -> dict[str, Expression]:
    """The expressions by their columns; without columns these are all, those of the key first."""
    names = statement.columns or tuple(column.name for column in (*source.schema.key, *source.schema.value))
    seen: set[str] = set()
    for name, at in zip(statement.columns, statement.columns_at, strict=True):
        if name in seen:
            raise SqlError("name.duplicate", f"there are two columns `{name}`", offset=at)
        seen.add(name)
    if len(names) != len(statement.values):
        message = f"{_count(len(names), 'column')} cannot take {_count(len(statement.values), 'value')}"
        surplus = next((each.at for each in statement.values[len(names) :]), None)
        raise SqlError("insert.values", message, hint=_expected(statement, source, names), offset=surplus)
    return dict(zip(names, statement.values, strict=True))


def _count(number: int, of: str) -> str:
    return f"{number} {of}{'' if number == 1 else 's'}"


def _expected(statement: InsertValues, source: Source, names: tuple[str, ...]) -> str:
    wanted = ", ".join(quoted(name) for name in names)
    if statement.columns:
        return f"Give a value for each of {wanted}."
    types = ", ".join(f"{quoted(name)} {_column(source, name, None).type}" for name in names)
    return f"Expected are {types}. Name the columns to give only some: INSERT INTO {quoted(source.name)} ({wanted}) ..."


def _column(source: Source, name: str, at: int | None) -> Column:
    if name == ROWTIME:
        return Column(ROWTIME, BIGINT)
    if name in PSEUDO_COLUMNS:
        message = f"nothing can be inserted into the column `{name}`"
        raise SqlError("insert.target", message, hint="It says where a record is.", offset=at)
    found = source.schema.find(name)
    if found is None or found.part is Part.HEADERS:
        known = [column.name for column in source.schema]
        message = f"{source.name} has no column `{name}`"
        raise SqlError("name.column", message, hint=did_you_mean(name, known, shown=str), offset=at)
    return found


def _value(expression: Expression, column: Column, functions: Registry) -> Any:
    for each in columns_of(expression):
        if each.source is not None:
            message = f"{each.source} is no stream, table or alias here: VALUES are not of any row"
            raise SqlError("name.source", message, offset=each.at)
    check_calls("VALUES", (expression,), functions)
    type_ = type_of(expression, {}, functions)
    found = value(expression, (), functions)([], _Refusing(expression.at))
    if found is None or type_ is None:
        return None
    try:
        return literal_as(found, type_, column.type)
    except ValueError as error:
        message = f"the column `{column.name}` is of type {column.type}, and {_shown(found)} does not fit: {error}"
        raise SqlError("insert.values", message, offset=expression.at) from error


def _shown(found: Any) -> str:
    return str(found) if isinstance(found, Decimal) else repr(found)


@dataclass(frozen=True, slots=True)
class _Refusing:
    """A log for what nobody would look up: a failure is an error of the statement."""

    offset: int

    def failed(self, what: str, error: BaseException, row: object = None) -> None:
        message = f"{what} fails: {cause_of(error)}"
        raise SqlError("insert.values", message, offset=self.offset) from error


def _check_key(source: Source, values: dict[str, Any]) -> None:
    missing = [column.name for column in source.schema.key if values.get(column.name) is None]
    if source.kind is SourceKind.TABLE and missing:
        message = f"a row of the table {source.name} needs its key: {', '.join(f'`{name}`' for name in missing)}"
        raise SqlError("insert.values", message)
