"""What Java and its libraries answer, in a table that was made once with ``tables/Functions.java``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.unit.sql.functions.calling import FAILS, answer

_TABLE = Path(__file__).parent / "tables" / "functions.jsonl"


def _value(given: Any) -> Any:
    if isinstance(given, dict):
        if "double" in given:
            return float(given["double"].replace("Infinity", "inf"))
        return FAILS if "fails" in given else bytes.fromhex(given["bytes"])
    return given


def table() -> dict[str, list[tuple[tuple[Any, ...], Any]]]:
    """Arguments and answers by call."""
    found: dict[str, list[tuple[tuple[Any, ...], Any]]] = {}
    for line in _TABLE.read_text(encoding="utf-8").rstrip("\n").split("\n"):
        call, arguments, expected = json.loads(line)
        found.setdefault(call, []).append((tuple(map(_value, arguments)), _value(expected)))
    return found


def _agrees(found: Any, expected: Any) -> bool:
    """Equal; a double may be one of the two beside: the last digit of a sine is not the same on every machine."""
    if not isinstance(expected, float) or not isinstance(found, float):
        return bool(found == expected)
    if math.isnan(expected):
        return math.isnan(found)
    return found == expected or math.isclose(found, expected, rel_tol=4e-16, abs_tol=0)


@pytest.mark.parametrize(("call", "cases"), table().items())
def test_it_answers_what_java_does(call: str, cases: list[tuple[tuple[Any, ...], Any]]) -> None:
    answers = [(arguments, answer(call, arguments), expected) for arguments, expected in cases]
    assert [each for each in answers if not _agrees(each[1], each[2])] == []
