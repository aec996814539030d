"""A plain interpreter of bound expressions: slow, and written to be checked against the rules by eye.

Whole numbers are computed by fractions and cut to their bits, decimals by fractions, doubles by numpy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from headrace.sql.analysis import bound as b
from headrace.sql.tree import types as t
from headrace.sql.types.casts import cast_of
from headrace.sql.types.times import parse_date, parse_time, parse_timestamp


class Failed(Exception):
    """What Java would throw."""


class Interpreter:
    def __init__(self, row: Sequence[Any]) -> None:
        self._row = row
        self.failures: list[str] = []

    def guarded(self, node: b.Bound, what: str, variables: Mapping[str, Any]) -> Any:
        try:
            return self.value(node, variables)
        except Exception:
            self.failures.append(what)
            return None

    def value(self, node: b.Bound, variables: Mapping[str, Any]) -> Any:
        def of(part: b.Bound) -> Any:
            return self.value(part, variables)

        match node:
            case b.Constant(value):
                return value
            case b.ColumnAt(index):
                return self._row[index]
            case b.Variable(name):
                return variables[name]
            case b.LambdaOf(parameters, body):
                return lambda *given: self.value(body, {**variables, **dict(zip(parameters, given, strict=True))})
            case b.Guarded(value, what):
                return self.guarded(value, what, variables)
            case b.Arithmetic(operator, left, right, type_):
                return _arithmetic(operator, of(left), of(right), type_)
            case b.SignOf(sign, value, type_):
                found = _not_null(of(value))
                return found if sign == "+" else _negated(found, type_)
            case b.Comparison(operator, left, right):
                return self._comparison(operator, left, right, variables)
            case b.Logic("AND", left, right):
                return _not_null(of(left)) and _not_null(of(right))
            case b.Logic(_, left, right):
                return _not_null(of(left)) or _not_null(of(right))
            case b.Negation(value):
                return not _not_null(of(value))
            case b.NullTest(value, negated):
                return (of(value) is None) is not negated
            case b.Membership(value, items):
                wanted, found = of(value), [of(item) for item in items]
                return any(
                    wanted is not None and _equal(wanted, item, value.type) for item in found if item is not None
                )
            case b.Matching(value, pattern, escape):
                text, wanted = of(value), of(pattern)
                return _is_like(_not_null(text), _pattern(_not_null(wanted), escape))
            case b.Choosing(branches, default):
                return of(next((result for test, result in branches if _not_null(of(test))), default))
            case b.CastTo(value, type_):
                found = of(value)
                return None if found is None or value.type is None else cast_of(value.type, type_)(found)
            case b.MakeArray(items):
                return [of(item) for item in items]
            case b.MakeMap(entries):
                return {of(key): of(value) for key, value in entries}
            case b.MakeStruct(fields):
                return tuple(of(field) for field in fields)
            case b.CallOf(choice, arguments):
                return choice.overload.body(*[of(argument) for argument in arguments])
            case b.ItemAt(base, index):
                items = of(base)
                return None if items is None else _item(items, _not_null(of(index)))
            case b.ValueAt(base, key):
                entries = of(base)
                return None if entries is None else entries.get(of(key))
            case b.FieldOf(base, index):
                struct = of(base)
                return None if struct is None else struct[index]

    def _comparison(self, operator: str, left: b.Bound, right: b.Bound, variables: Mapping[str, Any]) -> bool:
        first = self.value(left, variables)
        if operator == "IS DISTINCT FROM":
            second = self.value(right, variables)
            if first is None or second is None:
                return (first is None) != (second is None)
            return _compare("<>", first, second, left.type, right.type)
        if first is None:
            return False
        second = self.value(right, variables)
        return second is not None and _compare(operator, first, second, left.type, right.type)


def _not_null(value: Any) -> Any:
    if value is None:
        raise Failed
    return value


def _cut(value: int, type_: Any) -> int:
    size = 4 if type_ == t.INTEGER else 8
    return int.from_bytes((value % (1 << 8 * size)).to_bytes(size, "little"), "little", signed=True)


def _negated(value: Any, type_: Any) -> Any:
    if type_ == t.DOUBLE:
        return -value
    return _decimal(-Fraction(value), type_.scale) if isinstance(type_, t.Decimal) else _cut(-value, type_)


def _arithmetic(operator: str, left: Any, right: Any, type_: Any) -> Any:
    if type_ == t.STRING:
        return "".join("null" if part is None else part for part in (left, right))
    _not_null(left), _not_null(right)
    if type_ == t.DOUBLE:
        with np.errstate(all="ignore"):
            first, second = np.float64(left), np.float64(right)
            return float(_DOUBLES[operator](first, second))
    result = _exact(operator, Fraction(left), Fraction(right))
    if not isinstance(type_, t.Decimal):
        return _cut(math.trunc(result) if operator == "/" else int(result), type_)
    found = _decimal(result, type_.scale)
    counted = _decimal(Fraction(math.trunc(Fraction(left) / Fraction(right))), 0) if operator == "%" else found
    if len(str(int(counted.scaleb(type_.scale))).strip("-").rstrip("0")) > type_.precision:
        raise Failed
    return found


_DOUBLES = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.fmod}


def _exact(operator: str, left: Fraction, right: Fraction) -> Fraction:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case _:
            return left - right * math.trunc(left / right)


def _decimal(value: Fraction, scale: int) -> Decimal:
    units = value * 10**scale
    if units.denominator != 1:
        raise Failed
    digits = tuple(map(int, str(abs(units.numerator))))
    return Decimal((1 if units < 0 else 0, digits, -scale))


def _compare(operator: str, left: Any, right: Any, left_type: Any, right_type: Any) -> bool:
    types = (left_type, right_type)
    if isinstance(left_type, t.Array | t.Map | t.Struct):
        equal = left_type == right_type and _equal(left, right, left_type)
        return equal if operator == "=" else not equal
    first, second = _moments(left, right, types)
    if t.STRING in types and types[0] == types[1]:
        first, second = (list(text.encode("utf-16-be", "surrogatepass")) for text in (first, second))
    elif types[0] == t.BYTES:
        first, second = ([byte - 256 if byte > 127 else byte for byte in data] for data in (first, second))
    elif any(isinstance(type_, t.Decimal) for type_ in types):
        first, second = (
            Fraction(repr(each)) if isinstance(each, float) else Fraction(each) for each in (first, second)
        )
    elif t.DOUBLE in types:
        first, second = np.float64(first), np.float64(second)
    less, more = bool(first < second), bool(first > second)
    equal = bool(first <= second and first >= second)
    return {"=": equal, "<>": less or more, "<": less, ">": more, "<=": less or equal, ">=": more or equal}[operator]


def _moments(left: Any, right: Any, types: tuple[Any, Any]) -> tuple[Any, Any]:
    if not any(type_ in (t.DATE, t.TIME, t.TIMESTAMP) for type_ in types):
        return left, right
    if t.TIME in types:
        parse, day = parse_time, 1
    elif t.TIMESTAMP in types:
        parse, day = parse_timestamp, 86_400_000
    else:
        parse, day = parse_date, 1
    first, second = (
        parse(value) if type_ == t.STRING else value * day if type_ == t.DATE else value
        for value, type_ in zip((left, right), types, strict=True)
    )
    return first, second


def _equal(left: Any, right: Any, type_: Any) -> bool:
    if left is None or right is None:
        return left is None and right is None
    match type_:
        case t.Array(item):
            return len(left) == len(right) and all(_equal(*pair, item) for pair in zip(left, right, strict=True))
        case t.Map(_, value):
            return set(left) == set(right) and all(_equal(left[key], right[key], value) for key in left)
        case t.Struct(fields):
            return all(_equal(left[at], right[at], field.type) for at, field in enumerate(fields))
    return repr(left) == repr(right)


def _item(items: list[Any], index: Any) -> Any:
    at = int(index)
    from_one = dict(enumerate(items, 1))
    return from_one.get(at if at > 0 else len(items) + 1 + at if at < 0 else 0)


def _pattern(text: str, escape: str | None) -> list[tuple[str, str]]:
    parts, rest = [], list(text)
    while rest:
        character = rest.pop(0)
        if character == escape:
            if not rest:
                raise Failed
            parts.append(("is", rest.pop(0)))
        else:
            parts.append({"%": ("many", ""), "_": ("one", "")}.get(character, ("is", character)))
    return parts


def _is_like(text: str, parts: list[tuple[str, str]]) -> bool:
    if not parts:
        return not text
    (kind, character), rest = parts[0], parts[1:]
    if kind == "many":
        return _is_like(text, rest) or (
            bool(text) and text[0] not in "\n\r\x85\u2028\u2029" and _is_like(text[1:], parts)
        )
    if not text or (text[0] != character if kind == "is" else text[0] in "\n\r\x85\u2028\u2029"):
        return False
    return _is_like(text[1:], rest)
