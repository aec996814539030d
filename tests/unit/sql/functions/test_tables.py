"""Table functions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.sql.functions.calling import FAILS, Cases, check, chosen, listed

CASES: Cases = {
    "EXPLODE(ARRAY<INTEGER>)": [(([1, None, 2],), [1, None, 2]), (([],), []), ((None,), [])],
    "CUBE_EXPLODE(ARRAY<INTEGER>)": [
        (([1, 2],), [[None, None], [None, 2], [1, None], [1, 2]]),
        (([1, None],), [[None, None], [1, None]]),
        (([None],), [[None]]),
        (([],), [[]]),
        ((None,), []),
        (([1] * 21,), FAILS),
    ],
}


@pytest.mark.parametrize(("call", "arguments", "expected"), listed(CASES))
def test_it_makes_these_rows(call: str, arguments: tuple[Any, ...], expected: Any) -> None:
    check(call, arguments, expected)


def test_a_row_has_the_type_of_an_element() -> None:
    assert str(chosen("EXPLODE(ARRAY<DECIMAL(3, 1)>)").result) == "DECIMAL(3, 1)"
    assert str(chosen("CUBE_EXPLODE(ARRAY<STRING>)").result) == "ARRAY<STRING>"
