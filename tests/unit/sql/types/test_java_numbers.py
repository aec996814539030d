"""Arithmetic, casts and doubles against tables made once with ``tables/Numbers.java`` and ``Doubles.java``."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from headrace.sql.compile import value
from headrace.sql.functions import builtin
from headrace.sql.schema import Column
from headrace.sql.text.parser import parse_columns, parse_expression
from headrace.sql.tree.types import DOUBLE, INTEGER, STRING, SqlType
from headrace.sql.tree.types import Decimal as DecimalType
from headrace.sql.types.casts import cast_of
from headrace.sql.types.decimals import result_of
from headrace.sql.types.java_text import double_text

_TABLES = Path(__file__).parent / "tables"


def table(name: str) -> list[list[Any]]:
    return [json.loads(line) for line in (_TABLES / f"{name}.jsonl").read_text("utf-8").splitlines()]


def type_named(text: str) -> SqlType:
    return parse_columns(f"C {text}")[0].type


def read(text: str, type_: SqlType) -> Any:
    if type_ == DOUBLE:
        return float(text)
    if isinstance(type_, DecimalType):
        return Decimal(text)
    return text if type_ == STRING else int(text)


def written(found: Any) -> str | None:
    if isinstance(found, float):
        return double_text(found)
    return format(found, "f") if isinstance(found, Decimal) else None if found is None else str(found)


def answer(question: Callable[[], Any]) -> str | None:
    try:
        return written(question())
    except (ValueError, ArithmeticError):
        return None


class Log:
    def failed(self, *_: Any) -> None:
        """A failure is null, and that is compared."""


def test_a_double_is_written_as_java_writes_it() -> None:
    """The first of the million that ``long_check`` compares."""
    wrong = [
        (bits, text)
        for bits, text in table("doubles")
        if double_text(struct.unpack(">d", bytes.fromhex(bits.rjust(16, "0")))[0]) != text
    ]
    assert not wrong


def test_arithmetic_is_javas() -> None:
    wrong = []
    for operator, left, right, first, second, result, expected in table("arithmetic"):
        types = (type_named(left), type_named(right))
        columns = [Column("L", types[0]), Column("R", types[1])]
        compiled = value(parse_expression(f"L {operator} R"), columns, builtin())
        found = written(compiled([read(first, types[0]), read(second, types[1])], Log()))
        if found != expected:
            wrong.append((operator, left, right, first, second, result, expected, found))
        if isinstance(types[0], DecimalType) and isinstance(types[1], DecimalType):
            assert str(result_of(operator, types[0], types[1])) == result
        else:
            assert types[0] in (INTEGER, DOUBLE)
    assert wrong == []


def test_casts_are_javas() -> None:
    wrong = []
    for from_, to, text, expected in table("casts"):
        type_ = type_named(from_)
        cast, given = cast_of(type_, type_named(to)), read(text, type_)
        found = answer(lambda cast=cast, given=given: cast(given))  # type: ignore[misc]
        if found != expected:
            wrong.append((from_, to, text, expected, found))
    assert wrong == []
