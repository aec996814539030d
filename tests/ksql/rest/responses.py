"""Responses compared: what is listed must be there, rows in any order."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.ksql.json_text import json_text
from tests.ksql.outcomes import PASSED, Kind, Outcome


def compared(expected: list[dict[str, Any]], found: list[dict[str, Any]]) -> Outcome:
    """Each expected response with the one at its place; there may be more."""
    if len(found) >= len(expected) and all(map(_is_same, expected, found)):
        return PASSED
    return Outcome(Kind.WRONG_OUTPUT, _lines(expected), _lines(found))


def _is_same(expected: dict[str, Any], found: dict[str, Any]) -> bool:
    if "admin" in expected:
        return "admin" in found
    (kind,) = expected
    theirs, ours = expected[kind], found.get(kind)
    if ours is None or len(theirs) != len(ours):
        return False
    others = [(one, other) for one, other in zip(theirs, ours, strict=True) if "row" not in one]
    rows = [sorted(map(_row_text, _rows(each))) for each in (theirs, ours)]
    return rows[0] == rows[1] and all(_fits(one, other) for one, other in others)


def _rows(response: list[dict[str, Any]]) -> list[Any]:
    return [each["row"] for each in response if "row" in each]


def _row_text(row: Any) -> str:
    if isinstance(row, str):
        return row
    return _text({"columns": row["columns"], "tombstone": bool(row.get("tombstone"))})


def _fits(expected: Any, found: Any) -> bool:
    """Maps by the names that are listed; a name may say how its text begins."""
    if not isinstance(expected, dict) or not isinstance(found, dict):
        return bool(_text(expected) == _text(found))
    for name, value in expected.items():
        plain, _, how = name.partition("|")
        if how == "starts_with":
            if not str(found.get(plain)).startswith(value):
                return False
        elif not _fits(value, found.get(plain)):
            return False
    return True


def _text(value: Any) -> str:
    return json_text(_exact(value))


def _exact(value: Any) -> Any:
    """Numbers as they are compared: a double is what JSON says of it."""
    match value:
        case float():
            return Decimal(repr(value))
        case dict():
            return {name: _exact(each) for name, each in sorted(value.items())}
        case list():
            return [_exact(each) for each in value]
        case _:
            return value


def _lines(responses: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(_text(line) for each in responses for line in (each.get("query") or each.get("queryProto") or [each]))
