"""Functions of JSON in texts."""

from __future__ import annotations

import math
from decimal import Decimal as Exact
from typing import Any

import pytest

from tests.unit.sql.functions.calling import FAILS, Cases, check, listed
from tests.unit.sql.functions.test_strings import NULL, nulls

DOCUMENT = '{"a": {"b": [1, 2.50, {"c": "x"}], "d e": true, "n": null}, "big": 12345678901234567890, "e": 1e10}'

CASES: Cases = {
    "IS_JSON_STRING(STRING)": [
        ((DOCUMENT,), True),
        (("[1, 2]",), True),
        (('"a"',), True),
        (("null",), True),
        (("1.5",), True),
        (('{"a": 1} and more',), True),
        (("",), False),
        (("  ",), False),
        (("abc",), False),
        (("{a: 1}",), False),
        (("{'a': 1}",), False),
        (("[1,]",), False),
        (("NaN",), False),
        (("01",), False),
        (("truely",), False),
        (("12abc",), False),
        (NULL, False),
    ],
    "EXTRACTJSONFIELD(STRING, STRING)": [
        ((DOCUMENT, "$.a.b[0]"), "1"),
        ((DOCUMENT, "$.a.b[1]"), "2.50"),
        ((DOCUMENT, "$.a.b[2].c"), "x"),
        ((DOCUMENT, "$.a.b[2]"), '{"c":"x"}'),
        ((DOCUMENT, '$.a["d e"]'), "true"),
        ((DOCUMENT, "$.a.n"), "null"),
        ((DOCUMENT, "$.big"), "12345678901234567890"),
        ((DOCUMENT, "$.e"), "1E+10"),
        ((DOCUMENT, "$.a.b[9]"), None),
        ((DOCUMENT, "$.a.b.x"), None),
        ((DOCUMENT, "$.x.y"), None),
        ((DOCUMENT, "$.big.x"), None),
        (("[1, 2]", "$"), "[1,2]"),
        (("[1, 2]", "$[-1]"), FAILS),
        ((DOCUMENT, "a.b"), FAILS),
        ((DOCUMENT, ""), FAILS),
        ((DOCUMENT, "$..a"), FAILS),
        ((DOCUMENT, "$[0"), FAILS),
        ((DOCUMENT, '$["a'), FAILS),
        (("not json", "$.a"), FAILS),
        (('{"a\\"b": 1}', '$["a\\"b"]'), "1"),
        (('{"@a:b": "\\u0001\\n"}', "$.@a:b"), "\x01\n"),
        (('["\\u0001\\n"]', "$"), '["\\u0001\\n"]'),
        *nulls(2, (DOCUMENT, "$.a")),
    ],
    "JSON_ARRAY_LENGTH(STRING)": [
        (("[1, [2, 3]]",), 2),
        (("[]",), 0),
        (('{"a": 1}',), None),
        (("",), None),
        (("[",), FAILS),
        (NULL, None),
    ],
    "JSON_ITEMS(STRING)": [
        (('[1, "a", {"b": 1.50}, null]',), ["1", '"a"', '{"b":1.50}', "null"]),
        (("[]",), []),
        (('{"a": 1}',), FAILS),
        (("null",), FAILS),
        (("",), FAILS),
        (NULL, None),
    ],
    "JSON_KEYS(STRING)": [
        (('{"b": 1, "a": {"c": 2}}',), ["b", "a"]),
        (("{}",), []),
        (("[1]",), None),
        (("",), None),
        (("{",), FAILS),
        (NULL, None),
    ],
    "JSON_RECORDS(STRING)": [
        (('{"a": "x", "b": {"c": 1.0}, "d": null}',), {"a": "x", "b": '{"c":1.0}', "d": "null"}),
        (("[1]",), None),
        (("",), None),
        (("{",), FAILS),
        (NULL, None),
    ],
    "JSON_CONCAT(STRING, STRING)": [
        (('{"a": 1, "b": 2}', '{"b": 3, "c": 1e3}'), '{"a":1,"b":3,"c":1000}'),
        (("[1, 2]", "[3]"), "[1,2,3]"),
        (("[1]", '"a"'), '[1,"a"]'),
        (('{"a": 1}', "[2]"), '[{"a":1},2]'),
        (("1", "2"), "[1,2]"),
        (("", "[1]"), None),
        (("[", "[1]"), FAILS),
        ((None, "["), None),
        *nulls(2, ("[1]", "[2]")),
    ],
    "JSON_CONCAT(STRING)": [((" 1.50 ",), "1.50"), (('{"a": [1]}',), '{"a":[1]}')],
    "JSON_ARRAY_CONTAINS(STRING, INTEGER)": [
        (("[1, 2]", 2), True),
        (("[1.0]", 1), False),
        (('["1"]', 1), False),
        (("[[1]]", 1), False),
        (("[true]", 1), False),
        (("[null]", None), True),
        (("[1]", None), False),
        (("1", 1), False),
        (("[1", 2), False),
        ((None, 1), FAILS),
    ],
    "JSON_ARRAY_CONTAINS(STRING, BIGINT)": [(("[1099511627776]", 2**40), True)],
    "JSON_ARRAY_CONTAINS(STRING, DOUBLE)": [
        (("[1.50]", 1.5), True),
        (("[1]", 1.0), False),
        (("[null, true]", 1.0), False),
    ],
    "JSON_ARRAY_CONTAINS(STRING, STRING)": [(('["a"]', "a"), True), (('["a"]', "b"), False)],
    "JSON_ARRAY_CONTAINS(STRING, BOOLEAN)": [
        (("[true]", True), True),
        (("[true]", False), False),
        (("[1]", True), False),
    ],
    "JSON_ARRAY_CONTAINS(STRING, DECIMAL(2, 1))": [(("[1.5]", Exact("1.5")), False)],
    "JSON_ARRAY_CONTAINS(STRING, DATE)": [(("[1]", 1), False)],
    "TO_JSON_STRING(INTEGER)": [((1,), "1"), (NULL, "null")],
    "TO_JSON_STRING(STRING)": [(('a"\\\n\x1f/ä',), '"a\\"\\\\\\n\\u001F/ä"')],
    "TO_JSON_STRING(BOOLEAN)": [((True,), "true")],
    "TO_JSON_STRING(DOUBLE)": [((1e10,), "1.0E10"), ((math.nan,), '"NaN"'), ((-math.inf,), '"-Infinity"')],
    "TO_JSON_STRING(DECIMAL(20, 10))": [((Exact("1E-10"),), "0.0000000001"), ((Exact("1.50"),), "1.50")],
    "TO_JSON_STRING(BYTES)": [((b"ab",), '"YWI="')],
    "TO_JSON_STRING(DATE)": [((1,), '"1970-01-02"')],
    "TO_JSON_STRING(TIME)": [((60_000,), '"00:01"'), ((61_000,), '"00:01:01"')],
    "TO_JSON_STRING(TIMESTAMP)": [((1,), '"1970-01-01T00:00:00.001"')],
    "TO_JSON_STRING(ARRAY<DATE>)": [(([0, None],), '["1970-01-01",null]')],
    "TO_JSON_STRING(MAP<STRING, INTEGER>)": [(({"b": 1, "a": None},), '{"a":null,"b":1}'), (({None: 1},), FAILS)],
    "TO_JSON_STRING(STRUCT<B INTEGER, A ARRAY<STRUCT<D DATE>>>)": [
        (((1, [(0,)]),), '{"A":[{"D":"1970-01-01"}],"B":1}')
    ],
}


@pytest.mark.parametrize(("call", "arguments", "expected"), listed(CASES))
def test_it_answers_what_jackson_does(call: str, arguments: tuple[Any, ...], expected: Any) -> None:
    check(call, arguments, expected)
