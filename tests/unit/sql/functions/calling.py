"""Calling functions as a query does: by name and types of the arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from headrace.sql.functions import builtin
from headrace.sql.functions.patterns import Argument, LambdaShape, UnitArgument
from headrace.sql.functions.registry import Choice
from headrace.sql.text.cursor import Cursor
from headrace.sql.text.types import type_


class Fails:
    """What is expected of a call that raises: the column becomes null, and the processing log says why."""

    def __repr__(self) -> str:
        return "FAILS"


FAILS = Fails()
Cases: TypeAlias = dict[str, list[tuple[tuple[Any, ...], Any]]]
"""Calls such as ``ABS(INTEGER)``, and for each arguments and what comes out."""


def chosen(call: str) -> Choice:
    """The overload of a call such as ``ROUND(DECIMAL(4, 2), INTEGER)``."""
    name, _, rest = call.partition("(")
    cursor = Cursor(rest.removesuffix(")"))
    arguments = [_argument(cursor)] if rest != ")" else []
    while cursor.accept(","):
        arguments.append(_argument(cursor))
    return builtin().choose(name, arguments)


def _argument(cursor: Cursor) -> Argument:
    word = cursor.token.text
    if word.startswith("LAMBDA"):
        cursor.take()
        return LambdaShape(int(word[-1]))
    if word == "UNIT":
        cursor.take()
        return UnitArgument()
    if word == "NULL":
        cursor.take()
        return None
    return type_(cursor)


def answer(call: str, arguments: Sequence[Any]) -> Any:
    choice = chosen(call)
    body: Callable[..., Any] = choice.overload.body
    if choice.overload.is_typed:
        body = body(choice.types)
    try:
        return body(*arguments)
    except (ValueError, TypeError, OverflowError, KeyError):
        return FAILS


def failing(count: int, example: tuple[Any, ...]) -> list[tuple[tuple[Any, ...], Any]]:
    """One null in each of the first places fails."""
    return [((*example[:at], None, *example[at + 1 :]), FAILS) for at in range(count)]


def listed(cases: Cases) -> list[Any]:
    return [(call, arguments, expected) for call, found in cases.items() for arguments, expected in found]


def check(call: str, arguments: Sequence[Any], expected: Any) -> None:
    found = answer(call, arguments)
    assert same(found, expected), f"{call} of {arguments!r} is {found!r}, not {expected!r}"


def same(found: Any, expected: Any) -> bool:
    """Equal, and of one type; doubles to the last digit or two, decimals with their scale."""
    if isinstance(expected, float) and isinstance(found, float):
        if math.isnan(expected):
            return math.isnan(found)
        is_signed_alike = math.copysign(1, found) == math.copysign(1, expected)
        return math.isclose(found, expected, rel_tol=1e-14, abs_tol=0) and is_signed_alike
    if isinstance(expected, Decimal):
        return isinstance(found, Decimal) and str(found) == str(expected)
    if isinstance(expected, list | tuple):
        is_sequence = isinstance(found, type(expected)) and len(found) == len(expected)
        return is_sequence and all(map(same, found, expected))
    if isinstance(expected, dict):
        return isinstance(found, dict) and dict(found) == expected
    return type(found) is type(expected) and bool(found == expected)
