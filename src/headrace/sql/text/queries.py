"""Tokens to queries."""

from __future__ import annotations

from functools import partial

from headrace.sql.keywords import TIME_UNITS
from headrace.sql.text import meant
from headrace.sql.text.cursor import Cursor
from headrace.sql.text.expressions import expression, value_expression, whole_number
from headrace.sql.text.tokens import NAME
from headrace.sql.tree.expressions import Expression
from headrace.sql.tree.queries import (
    AllColumns,
    AllFields,
    Duration,
    Emit,
    Join,
    JoinKind,
    Query,
    Selected,
    SelectItem,
    Source,
    Window,
    WindowKind,
    Within,
)

_OUTER = {"LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "FULL": JoinKind.FULL}


def query(cursor: Cursor) -> Query:
    """SELECT with its clauses, in exactly this order."""
    cursor.expect("SELECT")
    items = cursor.listed(partial(item, cursor))
    cursor.expect("FROM")
    return Query(
        items,
        _source(cursor),
        _joins(cursor),
        _window(cursor) if cursor.accept("WINDOW") else None,
        expression(cursor) if cursor.accept("WHERE") else None,
        _grouping(cursor) if cursor.accept("GROUP", "BY") else (),
        _grouping(cursor) if cursor.accept("PARTITION", "BY") else (),
        expression(cursor) if cursor.accept("HAVING") else None,
        emit_at=cursor.at,
        emit=_emit(cursor) if cursor.accept("EMIT") else None,
        limit_at=cursor.at,
        limit=limit(cursor),
    )


def limit(cursor: Cursor) -> int | None:
    """LIMIT, if it is next."""
    return whole_number(cursor) if cursor.accept("LIMIT") else None


def duration(cursor: Cursor) -> Duration:
    """A number and a unit of time."""
    at, count = cursor.at, whole_number(cursor)
    if cursor.kind not in TIME_UNITS:
        raise cursor.error("expected a unit of time", hint=meant.UNITS_HINT, expected=TIME_UNITS)
    return Duration(count, cursor.take().kind, at=at)


def item(cursor: Cursor) -> SelectItem:
    """An expression with or without an alias, or all columns of something."""
    at = cursor.at
    if cursor.accept("*"):
        return AllColumns(at=at)
    if cursor.is_name and cursor.ahead(1) == "." and cursor.ahead(2) == "*":
        source = cursor.name()
        cursor.expect(".", "*")
        return AllColumns(source, at=at)
    found = expression(cursor)
    if cursor.accept("->", "*"):
        return AllFields(found)
    return Selected(found, _alias(cursor))


def _alias(cursor: Cursor) -> str | None:
    if cursor.accept("AS"):
        return cursor.name("an alias")
    return cursor.name() if cursor.is_name else None


def _source(cursor: Cursor) -> Source:
    at = cursor.at
    if cursor.kind == "(":
        raise cursor.error("expected a stream or table", hint=meant.NO_SUBQUERY)
    name = cursor.name("a stream or table")
    if cursor.accept("AS"):
        return Source(name, cursor.name("an alias"), at=at)
    return Source(name, cursor.name() if cursor.is_name and not _begins_clause(cursor) else None, at=at)


def _begins_clause(cursor: Cursor) -> bool:
    """EMIT and PARTITION are names, too: only the next word tells."""
    following = cursor.ahead(1)
    return (cursor.kind == "EMIT" and following in {"CHANGES", "FINAL"}) or (
        cursor.kind == "PARTITION" and following == "BY"
    )


def _joins(cursor: Cursor) -> tuple[Join, ...]:
    joins = []
    while (kind := _join_kind(cursor)) is not None:
        source = _source(cursor)
        within = _within(cursor) if cursor.accept("WITHIN") else None
        cursor.expect("ON")
        joins.append(Join(kind, source, expression(cursor), within))
    return tuple(joins)


def _join_kind(cursor: Cursor) -> JoinKind | None:
    if cursor.accept("JOIN") or cursor.accept("INNER", "JOIN"):
        return JoinKind.INNER
    kind = _OUTER.get(cursor.kind)
    if kind is not None:
        cursor.take()
        cursor.accept("OUTER")
        cursor.expect("JOIN")
    return kind


def _within(cursor: Cursor) -> Within:
    if cursor.accept("("):
        before = duration(cursor)
        cursor.expect(",")
        after = duration(cursor)
        cursor.expect(")")
    else:
        before = after = duration(cursor)
    return Within(before, after, _grace(cursor))


def _grace(cursor: Cursor) -> Duration | None:
    return duration(cursor) if cursor.accept("GRACE", "PERIOD") else None


def _window(cursor: Cursor) -> Window:
    at = cursor.at
    if cursor.kind == NAME:
        cursor.take()  # A window may have a name; nothing refers to it.
    kinds = {kind.value for kind in WindowKind}
    if cursor.kind not in kinds:
        raise cursor.error("expected TUMBLING, HOPPING or SESSION", expected=kinds)
    kind = WindowKind(cursor.take().kind)
    cursor.expect("(")
    if kind is not WindowKind.SESSION:
        cursor.expect("SIZE")
    size, advance = duration(cursor), None
    if kind is WindowKind.HOPPING:
        cursor.expect(",", "ADVANCE", "BY")
        advance = duration(cursor)
    retention = duration(cursor) if cursor.accept(",", "RETENTION") else None
    grace = duration(cursor) if cursor.accept(",", "GRACE", "PERIOD") else None
    cursor.expect(")")
    return Window(kind, size, advance, retention, grace, at=at)


def _grouping(cursor: Cursor) -> tuple[Expression, ...]:
    """``a, b`` or ``(a, b)``; what a parenthesis is shows only behind it."""
    if cursor.accept("(", ")"):
        return ()
    if cursor.kind == "(" and (listed := _listed_in_parentheses(cursor)) is not None:
        return listed
    return cursor.listed(partial(value_expression, cursor))


def _listed_in_parentheses(cursor: Cursor) -> tuple[Expression, ...] | None:
    depth = count = 0
    while True:
        kind = cursor.ahead(count)
        depth += (kind in {"(", "["}) - (kind in {")", "]"})
        if depth == 1 and kind == ",":
            return cursor.in_parentheses(partial(value_expression, cursor))
        if depth == 0 or kind in {";", "end of text"}:
            return None
        count += 1


def _emit(cursor: Cursor) -> Emit:
    if cursor.kind not in {"CHANGES", "FINAL"}:
        raise cursor.error("expected CHANGES or FINAL", expected=("CHANGES", "FINAL"))
    return Emit(cursor.take().kind)
