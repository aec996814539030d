"""Whether a value that was read is the one that a case expects: the expected one says how it is compared."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

_NEAR = 1e-6


def matches(expected: Any, found: Any) -> bool:
    """Numbers with a point are compared with their scale; what is found decides where both could be meant."""
    match expected:
        case None:
            return found is None
        case bool():
            return found is expected
        case dict():
            return _matches_fields(expected, found)
        case list():
            return isinstance(found, list) and len(found) == len(expected) and all(map(matches, expected, found))
        case str():
            return _matches_text(expected, found)
        case _:
            return _matches_number(expected, found)


def _matches_fields(expected: dict[str, Any], found: Any) -> bool:
    if not isinstance(found, dict) or len(found) != len(expected):
        return False
    return all(matches(value, _field(found, name)) for name, value in expected.items())


def _field(found: dict[str, Any], name: str) -> Any:
    value = found.get(name)
    return found.get(name.upper()) if value is None else value


def _matches_text(expected: str, found: Any) -> bool:
    if isinstance(found, Decimal):
        return Decimal(expected).as_tuple() == found.as_tuple()
    if isinstance(found, bytes):
        return base64.b64encode(found).decode() == expected
    return isinstance(found, str) and found == expected


def _matches_number(expected: int | Decimal, found: Any) -> bool:
    if isinstance(found, bool):
        return False
    if isinstance(found, int):
        return int(expected) == found
    if isinstance(found, float):
        return abs(float(expected) - found) < _NEAR
    if not isinstance(found, Decimal):
        return False
    if isinstance(expected, int):
        return int(found.as_tuple().exponent) >= 0 and found == expected
    return expected.as_tuple() == found.as_tuple()
