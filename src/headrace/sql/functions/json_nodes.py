"""JSON as Jackson reads and writes it: numbers keep all their digits, what follows the first value does not count."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any

from headrace.sql.types.java_text import double_text
from headrace.sql.types.utf16 import joined


class Missing:
    """What an empty text holds."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Missing()
_SPACE = " \t\r\n"
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TO_ESCAPE = re.compile(r'[\x00-\x1f"\\]')


def _refuse(constant: str) -> Any:
    message = f"{constant} is not JSON"
    raise ValueError(message)


def _number(text: str) -> Decimal:
    number = Decimal(text)
    return number or number.copy_abs()  # Java's decimals have no negative zero


_DECODER = json.JSONDecoder(parse_float=_number, parse_constant=_refuse)


def parse(text: str) -> Any:
    """The first value in a text: dict, list, str, bool, int, Decimal or None; ``MISSING`` if there is none.

    >>> parse('{"a": 1.10}')
    {'a': Decimal('1.10')}
    """
    start = len(text) - len(text.lstrip(_SPACE))
    if start == len(text):
        return MISSING
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        message = f"{text!r} is not JSON: {error}"
        raise ValueError(message) from None
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None
    if not isinstance(value, str | list | dict) and not _ends(text, end, value):
        message = f"{text!r} is not JSON: what follows {text[start:end]} is not separated"
        raise ValueError(message)
    return value


def _ends(text: str, end: int, value: Any) -> bool:
    """Whether a number or a word ends there: Python stops reading ``01`` and ``truely`` early."""
    following = text[end : end + 1]
    if isinstance(value, bool) or value is None:
        return not (following.isalnum() or following in {"_", "$"})
    return following == "" or following in _SPACE


def write(value: Any, *, plain: bool = False) -> str:
    """Compact JSON. Decimals have an exponent where Java gives them one, unless ``plain``.

    >>> write({"a": [1, Decimal("1.10"), None, True, "b"]})
    '{"a":[1,1.10,null,true,"b"]}'
    """
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(key)}:{write(item, plain=plain)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(write(item, plain=plain) for item in value) + "]"
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Decimal):
        return format(value, "f") if plain else str(value)
    if isinstance(value, float):
        return double_text(value) if math.isfinite(value) else quoted(double_text(value))
    return str(value)


def quoted(text: str) -> str:
    """A text as JSON."""
    return f'"{_TO_ESCAPE.sub(_escape, joined(text))}"'


def _escape(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04X}"
