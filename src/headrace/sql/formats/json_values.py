"""JSON nodes to SQL values. What ksqlDB accepts for each type is accepted, and nothing else.

Documents are read fast first, fractions as floats. Where a float is not enough (a STRING keeps the digits as they are
written, a DECIMAL all of them), the document is read once more, exactly: fractions then are decimals.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, NoReturn

from headrace.sql.tree.types import BIGINT, BOOLEAN, BYTES, DATE, DOUBLE, INTEGER, STRING, TIME, TIMESTAMP, SqlType
from headrace.sql.tree.types import Decimal as DecimalType
from headrace.sql.types.numbers import (
    fitting,
    parse_decimal,
    parse_double,
    parse_whole,
    time_of_day,
    wrap32,
    wrap64,
)

_ESCAPED = re.compile(r"\\u00([0-9a-f]{2})")
Convert = Callable[[Any], Any]
"""Takes a node that is not null."""


class NeedsExactNumbers(Exception):
    """A float where its digits matter: no error, it asks for a second reading."""


class WrongNodeError(ValueError):
    """A node that does not fit the type; ``path`` leads to it."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{reason}, at ${path}")
        self.reason = reason
        self.path = path


def wrong(node: Any, expected: str) -> WrongNodeError:
    """The error about a node of another kind."""
    kinds = {dict: "an object", list: "an array", str: "a text", bool: "a boolean", type(None): "null"}
    return WrongNodeError(f"expected {expected}, found {kinds.get(type(node), 'a number')}")


def located(convert: Convert, parts: Iterable[tuple[str, Any]]) -> WrongNodeError:
    """The error of the first part that cannot be converted, with the way to it."""
    for part, node in parts:
        try:
            if node is not None:
                convert(node)
        except WrongNodeError as error:
            return WrongNodeError(error.reason, part + error.path)
        except ValueError as error:
            return WrongNodeError(str(error), part)
    raise AssertionError("one of the parts was wrong before")


def read_exactly(data: bytes) -> Any:
    """The first JSON value of the data, fractions as decimals; what follows it is not looked at, as in Jackson."""
    node, _ = _DECODER.raw_decode(data.decode("utf-8-sig").lstrip(" \t\r\n"))
    return node


def _exact_number(text: str) -> Decimal:
    number = Decimal(text)
    # Java's decimals have no negative zero.
    return number if number else number.copy_abs()


def _no_number(text: str) -> NoReturn:
    message = f"{text} is no JSON"
    raise ValueError(message)


_DECODER = json.JSONDecoder(parse_float=_exact_number, parse_constant=_no_number)


def _boolean(node: Any) -> bool:
    if node is True or node is False:
        return node is True
    raise wrong(node, "BOOLEAN")


def _whole(node: Any, bits: int, expected: str) -> int:
    """A whole number, of which only the low bits count; or its text, which must fit."""
    if type(node) is int:
        return wrap32(node) if bits == 32 else wrap64(node)
    if type(node) is str:
        return parse_whole(node, bits)
    if type(node) is float:
        raise NeedsExactNumbers
    if type(node) is Decimal:
        return _whole(_truncated(node), bits, expected)
    raise wrong(node, expected)


def _truncated(number: Decimal) -> int:
    # The low 64 bits of such large numbers are zero, and that is all that is asked for.
    return 0 if int(number.as_tuple().exponent) >= 64 else int(number)


def _double(node: Any) -> float:
    if type(node) is float:
        return node + 0.0  # a negative zero becomes zero, as it does in Java's decimals
    if type(node) is int or type(node) is Decimal:
        return _nearest(node)
    if type(node) is str:
        return parse_double(node)
    raise wrong(node, "DOUBLE")


def _nearest(number: int | Decimal) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _string(node: Any) -> str:
    if type(node) is str:
        return node
    if type(node) is bool:
        return "true" if node else "false"
    if type(node) is int:
        return str(node)
    raise NeedsExactNumbers


def _exact_string(node: Any) -> str:
    if type(node) is dict:
        return node_text(node)
    if type(node) is list:
        return f"[{', '.join('null' if item is None else _exact_string(item) for item in node)}]"
    return str(node) if type(node) is Decimal else _string(node)


def node_text(node: Any) -> str:
    """The node as JSON text without blanks, decimals as Java writes them."""
    if type(node) is dict:
        return "{" + ",".join(f"{quoted_text(name)}:{node_text(item)}" for name, item in node.items()) + "}"
    if type(node) is list:
        return "[" + ",".join(map(node_text, node)) + "]"
    if type(node) is str:
        return quoted_text(node)
    return "null" if node is None else _exact_string(node)


def quoted_text(text: str) -> str:
    """The text as JSON, control characters as Jackson writes them."""
    written = json.dumps(text, ensure_ascii=False)
    return upper_case_escapes(written) if "\\u00" in written else written


def upper_case_escapes(written: str) -> str:
    """JSON text with the digits of escaped control characters in upper case."""
    parts = written.split("\\\\")
    return "\\\\".join(_ESCAPED.sub(lambda found: "\\u00" + found[1].upper(), part) for part in parts)


def _bytes(node: Any) -> bytes:
    if type(node) is not str:
        raise wrong(node, "BYTES as Base64")
    try:
        return base64.b64decode(node, validate=True)
    except ValueError as error:
        message = f"expected BYTES as Base64: {error}"
        raise ValueError(message) from None


def _decimal(type_: DecimalType) -> Convert:
    def convert(node: Any) -> Decimal:
        if type(node) is Decimal:
            return fitting(node, type_)
        if type(node) is int:
            return fitting(Decimal(node), type_)
        if type(node) is str:
            return fitting(parse_decimal(node), type_)
        if type(node) is float:
            raise NeedsExactNumbers
        raise wrong(node, str(type_))

    return convert


_CONVERTERS: dict[SqlType, Convert] = {
    BOOLEAN: _boolean,
    INTEGER: lambda node: _whole(node, 32, "INTEGER"),
    BIGINT: lambda node: _whole(node, 64, "BIGINT"),
    DOUBLE: _double,
    STRING: _string,
    BYTES: _bytes,
    DATE: lambda node: _whole(node, 64, "DATE"),
    TIME: lambda node: time_of_day(_whole(node, 64, "TIME")),
    TIMESTAMP: lambda node: _whole(node, 64, "TIMESTAMP"),
}


def primitive_converter(type_: SqlType, is_exact: bool) -> Convert:
    """How nodes become values of a type without parts."""
    if isinstance(type_, DecimalType):
        return _decimal(type_)
    return _exact_string if is_exact and type_ == STRING else _CONVERTERS[type_]
