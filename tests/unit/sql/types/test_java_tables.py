"""What Java answers, in tables that were made once with ``tables/Tables.java``.

A million random doubles are compared by ``python -m tests.unit.sql.types.long_check`` (it needs Java).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.sql.types.java_maps import SizedMap, hash_order, java_hash
from headrace.sql.types.java_text import decimal_text
from headrace.sql.types.regex import java_pattern, java_replacement
from headrace.sql.types.time_fields import Moment
from headrace.sql.types.time_patterns import pattern_of
from headrace.sql.types.zones import UTC, zone_of

_TABLES = Path(__file__).parent / "tables"


def table(name: str) -> list[list[Any]]:
    lines = (_TABLES / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def answer(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except (ValueError, KeyError, IndexError):
        return None


@pytest.mark.parametrize(("pattern", "ms", "zone", "text"), table("formatted"))
def test_a_timestamp_is_written_as_java_writes_it(pattern: str, ms: int, zone: str, text: str | None) -> None:
    assert answer(lambda: pattern_of(pattern).write(Moment.at(ms, zone_of(zone)))) == text


@pytest.mark.parametrize(("pattern", "text", "ms"), table("parsed"))
def test_a_text_is_read_as_java_reads_it(pattern: str, text: str, ms: int | None) -> None:
    assert answer(lambda: pattern_of(pattern).read_instant(text, UTC)) == ms


@pytest.mark.parametrize(("name", "seconds", "expected"), table("zones"))
def test_a_zone_is_as_far_from_utc_as_in_java(name: str, seconds: int, expected: int | None) -> None:
    if name.startswith("local "):
        found = answer(lambda: seconds - zone_of(name.removeprefix("local ")).offset_of_local(seconds))
    else:
        found = answer(lambda: zone_of(name).offset_at(seconds))
    assert found == expected


@pytest.mark.parametrize(("digits", "scale", "text", "plain", "code"), table("decimals"))
def test_a_decimal_is_written_and_hashed_as_in_java(digits: str, scale: int, text: str, plain: str, code: int) -> None:
    value = Decimal(f"{digits}E{-scale}")
    assert decimal_text(value) == text
    assert format(value, "f") == plain
    assert java_hash(value) == code % 2**32


@pytest.mark.parametrize(("pattern", "text", "replacement", "replaced", "matches"), table("regex"))
def test_a_regular_expression_finds_and_replaces_what_java_does(
    pattern: str, text: str, replacement: str, replaced: str | None, matches: list[str] | None
) -> None:
    assert answer(lambda: java_pattern(pattern).sub(java_replacement(replacement), text)) == replaced
    assert answer(lambda: [match[0] for match in re.finditer(java_pattern(pattern), text)]) == matches


@pytest.mark.parametrize(("keys", "sized", "plain"), table("maps"))
def test_a_map_has_the_order_of_javas_hash_map(keys: list[str], sized: list[str], plain: list[str]) -> None:
    assert [key for key, _ in hash_order(dict.fromkeys(keys, 1))] == sized
    assert [key for key, _ in hash_order(SizedMap.fromkeys(keys, 1))] == plain
