"""Tokens to expressions: operators by precedence, one function for each other production."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial

from headrace.sql.keywords import NON_RESERVED, TIME_UNITS
from headrace.sql.text.cursor import Cursor
from headrace.sql.text.meant import as_text
from headrace.sql.text.tokens import DECIMAL, DOUBLE, INTEGER, STRING
from headrace.sql.text.types import type_
from headrace.sql.tree.expressions import (
    ArrayOf,
    Between,
    Binary,
    BooleanLiteral,
    Call,
    Case,
    Cast,
    Column,
    DecimalLiteral,
    Dereference,
    DoubleLiteral,
    Expression,
    In,
    IntegerLiteral,
    IsNull,
    Lambda,
    LambdaVariable,
    Like,
    Literal,
    LongLiteral,
    MapOf,
    Not,
    NullLiteral,
    Signed,
    StringLiteral,
    StructOf,
    Subscript,
    TimeUnit,
    Typed,
    When,
)
from headrace.sql.tree.walking import has_more_levels

_LOGIC = {"OR": 1, "AND": 2}
_NOT = 3
_VALUE = {"||": 1, "+": 2, "-": 2, "*": 3, "/": 3, "%": 3}
_COMPARISONS = {"=", "<>", "<", "<=", ">", ">="}
_NUMBERS = {INTEGER, DECIMAL, DOUBLE}
_TYPED = {"TIME", "TIMESTAMP", "DATE", "DECIMAL"}
_RESERVED_UNITS = TIME_UNITS - NON_RESERVED
_MAX_CHAIN = 200
"""Operators in a row: each makes the tree one level deeper."""
_MAX_WHENS = 250
"""Of one CASE: what is written for each is inside of what is written for the one before."""
_MAX_LEVELS = 250
"""Of a whole tree: what goes through it is recursive, and Python's stack ends."""
_INT_BITS, _LONG_BITS = 31, 63


def expression(cursor: Cursor) -> Expression:
    """Any expression."""
    at = cursor.at
    cursor.go_deeper()
    found = _logic(cursor, 1)
    cursor.come_up()
    return _of_good_height(cursor, found, at)


def value_expression(cursor: Cursor) -> Expression:
    """Without AND, OR, NOT and comparisons, unless they are in parentheses."""
    at = cursor.at
    cursor.go_deeper()
    found = _value(cursor, 1)
    cursor.come_up()
    return _of_good_height(cursor, found, at)


def _of_good_height(cursor: Cursor, found: Expression, at: int) -> Expression:
    """Refuse long chains inside of long chains: each is allowed, all of them together make too many levels."""
    is_long = cursor.end - at > 2 * _MAX_LEVELS
    if is_long and cursor.is_outermost and has_more_levels(found, _MAX_LEVELS):
        raise cursor.error_from(at, f"this expression has more than {_MAX_LEVELS} levels", code="parse.too-deep")
    return found


def literal(cursor: Cursor) -> Literal:
    """NULL, a number, TRUE, FALSE or a text."""
    at, kind = cursor.at, cursor.kind
    if kind == STRING:
        return StringLiteral(cursor.string(), at=at)
    if kind in _NUMBERS or (kind == "-" and cursor.ahead(1) in _NUMBERS):
        return _number(cursor)
    if cursor.accept("NULL"):
        return NullLiteral(at=at)
    if kind in {"TRUE", "FALSE"}:
        return BooleanLiteral(cursor.take().kind == "TRUE", at=at)
    raise cursor.error("expected a literal", hint=as_text(cursor.token))


def whole_number(cursor: Cursor) -> int:
    """A whole number; it may be negative."""
    sign = "-" if cursor.accept("-") else ""
    if cursor.kind != INTEGER:
        raise cursor.error("expected a whole number")
    at = cursor.at
    return _whole(cursor, sign, cursor.take().text, at)


def _logic(cursor: Cursor, lowest: int) -> Expression:
    at = cursor.at
    left = _not(cursor, at) if cursor.accept("NOT") else _predicated(cursor)
    for _ in range(_MAX_CHAIN):
        precedence = _LOGIC.get(cursor.kind, 0)
        if not precedence or precedence < lowest:
            return left
        left = Binary(cursor.take().kind, left, _logic(cursor, precedence + 1), at=at)
    raise _too_long(cursor)


def _not(cursor: Cursor, at: int) -> Expression:
    cursor.go_deeper()
    value = _logic(cursor, _NOT)
    cursor.come_up()
    return Not(value, at=at)


def _predicated(cursor: Cursor) -> Expression:
    at = cursor.at
    left = _value(cursor, 1)
    kind = cursor.kind
    if kind in _COMPARISONS:
        cursor.take()
        return Binary(kind, left, _value(cursor, 1), at=at)
    if cursor.accept("IS"):
        return _is(cursor, left, at)
    if kind == "NOT" and cursor.ahead(1) in _PREDICATES:
        cursor.take()
        return Not(_PREDICATES[cursor.take().kind](cursor, left, at), at=at)
    if kind in _PREDICATES:
        return _PREDICATES[cursor.take().kind](cursor, left, at)
    return left


def _is(cursor: Cursor, left: Expression, at: int) -> Expression:
    negated = cursor.accept("NOT")
    if cursor.accept("NULL"):
        return IsNull(left, negated, at=at)
    if not cursor.accept("DISTINCT", "FROM"):
        raise cursor.error("expected NULL or DISTINCT FROM")
    compared = Binary("IS DISTINCT FROM", left, _value(cursor, 1), at=at)
    return Not(compared, at=at) if negated else compared


def _between(cursor: Cursor, left: Expression, at: int) -> Between:
    low = _value(cursor, 1)
    cursor.expect("AND")
    return Between(left, low, _value(cursor, 1), at=at)


def _in(cursor: Cursor, left: Expression, at: int) -> In:
    return In(left, cursor.in_parentheses(partial(expression, cursor)), at=at)


def _like(cursor: Cursor, left: Expression, at: int) -> Like:
    pattern = _value(cursor, 1)
    escape_at = cursor.at
    escape = cursor.string("an escape character in single quotes") if cursor.accept("ESCAPE") else None
    if escape is not None and len(escape) != 1:
        raise cursor.error_from(escape_at, "ESCAPE takes exactly one character", code="parse.escape")
    return Like(left, pattern, escape, at=at)


_PREDICATES: dict[str, Callable[[Cursor, Expression, int], Expression]] = {
    "BETWEEN": _between,
    "IN": _in,
    "LIKE": _like,
}


def _value(cursor: Cursor, lowest: int) -> Expression:
    at = cursor.at
    left = _signed(cursor)
    for _ in range(_MAX_CHAIN):
        precedence = _VALUE.get(cursor.kind, 0)
        if not precedence or precedence < lowest:
            return left
        operator = cursor.take().kind
        right = _value(cursor, precedence + 1)
        # The text keeps no trace of it: || is CONCAT in messages and names, too.
        left = Call("CONCAT", (left, right), at=at) if operator == "||" else Binary(operator, left, right, at=at)
    raise _too_long(cursor)


def _signed(cursor: Cursor) -> Expression:
    if cursor.kind not in {"+", "-"} or (cursor.kind == "-" and cursor.ahead(1) in _NUMBERS):
        return _with_accessors(cursor)
    at, sign = cursor.at, cursor.take().kind
    cursor.go_deeper()
    value = _signed(cursor)
    cursor.come_up()
    return Signed(sign, value, at=at)


def _with_accessors(cursor: Cursor) -> Expression:
    at = cursor.at
    base = _primary(cursor)
    for _ in range(_MAX_CHAIN):
        if cursor.accept("["):
            base = Subscript(base, value_expression(cursor), at=at)
            cursor.expect("]")
        elif cursor.kind == "->" and cursor.ahead(1) != "*":
            cursor.take()
            base = Dereference(name_at=cursor.at, base=base, name=cursor.name("a field"), at=at)
        else:
            return base
    raise _too_long(cursor)


def _primary(cursor: Cursor) -> Expression:
    at, kind, next_kind = cursor.at, cursor.kind, cursor.ahead(1)
    if next_kind == STRING and (kind == "DECIMAL" or cursor.is_name):
        return _typed(cursor, at)
    if (kind, next_kind) in _CONSTRUCTORS:
        cursor.expect(kind, next_kind)
        return _CONSTRUCTORS[kind, next_kind](cursor, at)
    if kind == "CASE":
        return _case(cursor, at)
    if kind == "(":
        cursor.take()
        inner = expression(cursor)
        cursor.expect(")")
        return inner
    if cursor.is_name:
        return _call(cursor, at) if next_kind == "(" else _reference(cursor, at)
    if kind in _LITERALS:
        return literal(cursor)
    raise cursor.error("expected an expression", hint=cursor.hint_for_expression())


_LITERALS = _NUMBERS | {STRING, "NULL", "TRUE", "FALSE", "-"}


def _reference(cursor: Cursor, at: int) -> Expression:
    name = cursor.name()
    if cursor.kind == "." and cursor.ahead(1) != "*":
        cursor.take()
        return Column(cursor.name("a column"), name, at=at)
    return LambdaVariable(name, at=at) if name in cursor.lambda_parameters else Column(name, at=at)


def _call(cursor: Cursor, at: int) -> Call:
    name = cursor.name()
    cursor.expect("(")
    if cursor.accept("*", ")"):
        return Call(name, (), star=True, at=at)
    if cursor.accept(")"):
        return Call(name, (), at=at)
    arguments = cursor.listed(partial(_argument, cursor))
    cursor.expect(")")
    return Call(name, arguments, at=at)


def _argument(cursor: Cursor) -> Expression:
    at = cursor.at
    if cursor.kind in _RESERVED_UNITS:
        return TimeUnit(cursor.take().kind, at=at)
    parameters = _parameters(cursor)
    if not parameters:
        return expression(cursor)
    cursor.lambda_parameters.extend(parameters)
    body = expression(cursor)
    del cursor.lambda_parameters[-len(parameters) :]
    return Lambda(parameters, body, at=at)


def _parameters(cursor: Cursor) -> tuple[str, ...]:
    """Of a lambda, up to and with its arrow; none where no lambda is next."""
    if cursor.is_name and cursor.ahead(1) == "=>":
        name = cursor.name()
        cursor.expect("=>")
        return (name,)
    if cursor.kind != "(":
        return ()
    closing = 2
    while cursor.ahead(closing) == ",":
        closing += 2
    if cursor.ahead(closing) != ")" or cursor.ahead(closing + 1) != "=>":
        return ()
    names = cursor.in_parentheses(cursor.name)
    cursor.expect("=>")
    return names


def _typed(cursor: Cursor, at: int) -> Typed:
    token = cursor.token
    name = cursor.take().kind if token.kind == "DECIMAL" else cursor.name()
    text = cursor.string()
    if name not in _TYPED:
        raise cursor.error_from(at, f"{name} is no type of a literal", hint=f"Types are {', '.join(sorted(_TYPED))}.")
    return Typed(name, text, at=at)


def _case(cursor: Cursor, at: int) -> Case:
    cursor.expect("CASE")
    operand = None if cursor.kind == "WHEN" else value_expression(cursor)
    whens: list[When] = []
    while cursor.accept("WHEN"):
        if len(whens) == _MAX_WHENS:
            hint = "MAP(...)[value] finds one among many values."
            msg = f"a CASE with more than {_MAX_WHENS} WHEN"
            raise cursor.error(msg, code="parse.too-deep", hint=hint)
        condition = expression(cursor)
        cursor.expect("THEN")
        whens.append(When(condition, expression(cursor)))
    if not whens:
        raise cursor.error("expected WHEN")
    default = expression(cursor) if cursor.accept("ELSE") else None
    cursor.expect("END")
    return Case(tuple(whens), default, operand, at=at)


def _cast(cursor: Cursor, at: int) -> Cast:
    value = expression(cursor)
    cursor.expect("AS")
    found = type_(cursor)
    cursor.expect(")")
    return Cast(value, found, at=at)


def _array(cursor: Cursor, at: int) -> ArrayOf:
    items = () if cursor.kind == "]" else cursor.listed(partial(expression, cursor))
    cursor.expect("]")
    return ArrayOf(items, at=at)


def _map(cursor: Cursor, at: int) -> MapOf:
    entries = () if cursor.kind == ")" else cursor.listed(partial(_entry, cursor))
    cursor.expect(")")
    return MapOf(entries, at=at)


def _entry(cursor: Cursor) -> tuple[Expression, Expression]:
    key = expression(cursor)
    cursor.expect(":=")
    return key, expression(cursor)


def _struct(cursor: Cursor, at: int) -> StructOf:
    fields = () if cursor.kind == ")" else cursor.listed(partial(_field, cursor))
    cursor.expect(")")
    return StructOf(fields, at=at)


def _field(cursor: Cursor) -> tuple[str, Expression]:
    name = cursor.name("a field")
    cursor.expect(":=")
    return name, expression(cursor)


_CONSTRUCTORS: dict[tuple[str, str], Callable[[Cursor, int], Expression]] = {
    ("CAST", "("): _cast,
    ("ARRAY", "["): _array,
    ("MAP", "("): _map,
    ("STRUCT", "("): _struct,
}


def _number(cursor: Cursor) -> Literal:
    at = cursor.at
    sign = "-" if cursor.accept("-") else ""
    token = cursor.take()
    if token.kind == INTEGER:
        whole = _whole(cursor, sign, token.text, at)
        return (IntegerLiteral if _fits(whole, _INT_BITS) else LongLiteral)(whole, at=at)
    if token.kind == DECIMAL:
        return DecimalLiteral(Decimal(sign + token.text), at=at)
    value = float(sign + token.text)
    if math.isinf(value):
        raise cursor.error_from(at, f"{sign}{token.text} is too large for a DOUBLE", code="parse.literal-range")
    return DoubleLiteral(value, at=at)


def _whole(cursor: Cursor, sign: str, digits: str, at: int) -> int:
    whole = int(sign + digits) if len(digits) < _MAX_DIGITS else None
    if whole is None or not _fits(whole, _LONG_BITS):
        hint = "Larger numbers are written with a point (DECIMAL) or an exponent (DOUBLE)."
        raise cursor.error_from(at, "this number needs more than 64 bits", code="parse.literal-range", hint=hint)
    return whole


_MAX_DIGITS = 4_000
"""Python refuses to read longer numbers."""


def _fits(number: int, bits: int) -> bool:
    return -(1 << bits) <= number < 1 << bits


def _too_long(cursor: Cursor) -> Exception:
    return cursor.error(f"more than {_MAX_CHAIN} operators in a row", code="parse.too-deep")
