"""Tokens to types."""

from __future__ import annotations

from headrace.sql.text.cursor import Cursor
from headrace.sql.text.tokens import INTEGER
from headrace.sql.tree.types import BY_NAME, Array, Decimal, Field, Map, Registered, SqlType, Struct


def type_(cursor: Cursor) -> SqlType:
    """A type; ``INT ARRAY`` is another way to write ``ARRAY<INT>``."""
    cursor.go_deeper()
    found = _plain_type(cursor)
    while cursor.accept("ARRAY"):
        found = Array(found)
    cursor.come_up()
    return found


def _plain_type(cursor: Cursor) -> SqlType:
    if cursor.accept("DECIMAL"):
        return _decimal(cursor)
    if cursor.ahead(1) == "<":
        if cursor.accept("ARRAY", "<"):
            return Array(_closed(cursor, type_(cursor)))
        if cursor.accept("MAP", "<"):
            key = type_(cursor)
            cursor.expect(",")
            return Map(key, _closed(cursor, type_(cursor)))
        if cursor.accept("STRUCT", "<"):
            return _struct(cursor)
    if cursor.accept("STRUCT", "<>"):
        return Struct(())
    return _named(cursor)


def _closed(cursor: Cursor, found: SqlType) -> SqlType:
    cursor.expect(">")
    return found


def _decimal(cursor: Cursor) -> Decimal:
    start = cursor.at
    cursor.expect("(")
    precision = _digits(cursor)
    cursor.expect(",")
    scale = _digits(cursor)
    cursor.expect(")")
    if precision < 1 or scale > precision:
        message = f"DECIMAL({precision}, {scale}) cannot be: at least one digit, and not more of them after the point"
        raise cursor.error_from(start, message, code="type.decimal")
    return Decimal(precision, scale)


def _digits(cursor: Cursor) -> int:
    if cursor.kind != INTEGER:
        raise cursor.error("expected a whole number")
    return int(cursor.take().text)


def _struct(cursor: Cursor) -> Struct:
    names: set[str] = set()
    fields = () if cursor.kind == ">" else cursor.listed(lambda: _field(cursor, names))
    cursor.expect(">")
    return Struct(fields)


def _field(cursor: Cursor, names: set[str]) -> Field:
    """A field; ``names`` are those of the fields before it."""
    at, name = cursor.at, cursor.name("a field")
    if name in names:
        raise cursor.error_from(at, f"there are two fields `{name}` in this STRUCT", code="name.duplicate")
    names.add(name)
    return Field(name, type_(cursor))


def _named(cursor: Cursor) -> SqlType:
    at, name = cursor.at, cursor.name("a type")
    if cursor.accept("("):
        # Only DECIMAL has a use for parameters; others may have them, as VARCHAR(10) has in other dialects.
        cursor.listed(lambda: _parameter(cursor))
        cursor.expect(")")
    return BY_NAME.get(name) or Registered(name, at=at)


def _parameter(cursor: Cursor) -> None:
    if cursor.kind not in {INTEGER, "STRING"}:
        raise cursor.error("expected a whole number")
    cursor.take()
