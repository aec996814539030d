"""Functions of arrays, maps and lambdas, and those that choose."""

from __future__ import annotations

import math
from decimal import Decimal as Exact
from typing import Any

import pytest

from headrace.sql.types.java_maps import SizedMap
from tests.unit.sql.functions.calling import FAILS, Cases, check, chosen, failing, listed
from tests.unit.sql.functions.test_strings import NULL, nulls

NAN = math.nan
MANY = {"a": 1, "b": 2, "c": 3}

CASES: Cases = {
    "ARRAY_LENGTH(ARRAY<INTEGER>)": [(([1, None],), 2), (([],), 0), (NULL, None)],
    "ARRAY_CONTAINS(ARRAY<INTEGER>, INTEGER)": [
        (([1, 2], 2), True),
        (([1, 2], 3), False),
        (([1, None], None), True),
        (([1], None), False),
        ((None, 1), False),
    ],
    "ARRAY_CONTAINS(ARRAY<DOUBLE>, DOUBLE)": [(([NAN], NAN), True), (([0.0], -0.0), False)],
    "ARRAY_CONTAINS(ARRAY<DECIMAL(3, 2)>, DECIMAL(3, 2))": [(([Exact("1.0")], Exact("1.00")), False)],
    "ARRAY_CONTAINS(ARRAY<ARRAY<INTEGER>>, ARRAY<INTEGER>)": [(([[1, None]], [1, None]), True), (([[1]], [2]), False)],
    "ARRAY_CONCAT(ARRAY<INTEGER>, ARRAY<INTEGER>)": [
        (([1, None], [1]), [1, None, 1]),
        (([], []), []),
        ((None, [1]), [1]),
        (([1], None), [1]),
        ((None, None), None),
    ],
    "ARRAY_DISTINCT(ARRAY<INTEGER>)": [(([3, 1, None, 3, None, 2],), [3, 1, None, 2]), (([],), []), (NULL, None)],
    "ARRAY_DISTINCT(ARRAY<MAP<STRING, INTEGER>>)": [(([{"a": 1}, {"a": 1}],), [{"a": 1}])],
    "ARRAY_EXCEPT(ARRAY<INTEGER>, ARRAY<INTEGER>)": [
        (([3, 1, 3, None, 2], [1, 7]), [3, None, 2]),
        (([1, None], [None]), [1]),
        *nulls(2, ([1], [1])),
    ],
    "ARRAY_INTERSECT(ARRAY<INTEGER>, ARRAY<INTEGER>)": [
        (([3, 1, 3, None], [None, 3, 9]), [3, None]),
        (([1], []), []),
        *nulls(2, ([1], [1])),
    ],
    "ARRAY_UNION(ARRAY<INTEGER>, ARRAY<INTEGER>)": [
        (([3, 1, 3], [None, 1, 9]), [3, 1, None, 9]),
        *nulls(2, ([1], [1])),
    ],
    "ARRAY_REMOVE(ARRAY<INTEGER>, INTEGER)": [
        (([1, 2, 1], 1), [2]),
        (([1, None], None), [1]),
        (([1], 2), [1]),
        ((None, 1), None),
    ],
    "ARRAY_MAX(ARRAY<INTEGER>)": [(([1, None, 3],), 3), (([None],), None), (([],), None), (NULL, None)],
    "ARRAY_MAX(ARRAY<STRING>)": [((["b", "a"],), "b")],
    "ARRAY_MAX(ARRAY<BOOLEAN>)": [(([False, True],), True)],
    "ARRAY_MAX(ARRAY<DOUBLE>)": [(([1.0, NAN, 2.0],), NAN)],
    "ARRAY_MAX(ARRAY<ARRAY<INTEGER>>)": [(([[1], [2]],), FAILS)],
    "ARRAY_MIN(ARRAY<INTEGER>)": [(([2, None, 1],), 1), (([None],), None), (([],), None), (NULL, None)],
    "ARRAY_MIN(ARRAY<DECIMAL(3, 1)>)": [(([Exact("2.5"), Exact("-1.0")],), Exact("-1.0"))],
    "ARRAY_SORT(ARRAY<INTEGER>)": [(([2, None, 1],), [1, 2, None]), (([],), []), (NULL, None)],
    "ARRAY_SORT(ARRAY<STRING>, STRING)": [
        ((["a", None, "b"], "DESC"), ["b", "a", None]),
        ((["b", "a"], "ascending"), ["a", "b"]),
        ((["b", "a"], "Descending"), ["b", "a"]),
        ((["b", "a"], "sideways"), None),
        *nulls(2, (["a"], "ASC")),
    ],
    "ARRAY_JOIN(ARRAY<INTEGER>)": [(([1, None, 3],), "1,null,3"), (([],), ""), (NULL, None)],
    "ARRAY_JOIN(ARRAY<DOUBLE>, STRING)": [
        (([1.0, 1e10], "-"), "1.0-1.0E10"),
        (([1.0, 2.0], None), "1.02.0"),
        ((None, ","), None),
    ],
    "ARRAY_JOIN(ARRAY<BOOLEAN>, STRING)": [(([True, False], ""), "truefalse")],
    "ARRAY_JOIN(ARRAY<DECIMAL(3, 2)>, STRING)": [(([Exact("1.10")], ";"), "1.10")],
    "ARRAY_JOIN(ARRAY<DATE>, STRING)": [(([1], ";"), FAILS), (([None], ";"), "null")],
    "ARRAY_JOIN(ARRAY<ARRAY<INTEGER>>, STRING)": [(([[1]], ";"), FAILS)],
    "SLICE(ARRAY<INTEGER>, INTEGER, INTEGER)": [
        (([1, 2, 3], 1, 2), [1, 2]),
        (([1, 2, 3], 2, 2), [2]),
        (([1, 2, 3], None, 2), [1, 2]),
        (([1, 2, 3], 2, None), [2, 3]),
        (([1, 2, 3], 0, 2), None),
        (([1, 2, 3], 1, 4), None),
        (([1, 2, 3], 3, 2), []),
        (([1, 2, 3], 3, 1), FAILS),
        ((None, 1, 2), None),
    ],
    "GENERATE_SERIES(INTEGER, INTEGER)": [
        ((1, 4), [1, 2, 3, 4]),
        ((4, 1), [4, 3, 2, 1]),
        ((2, 2), [2]),
        ((0, 2_000_000_000), FAILS),
        ((None, 1), FAILS),
        ((1, None), FAILS),
    ],
    "GENERATE_SERIES(INTEGER, INTEGER, INTEGER)": [
        ((0, 9, 3), [0, 3, 6, 9]),
        ((0, -5, -2), [0, -2, -4]),
        ((0, 5, -1), FAILS),
        ((5, 0, 1), FAILS),
        ((0, 5, 0), FAILS),
        ((2, 2, 3), [2]),
        *failing(3, (0, 1, 1)),
    ],
    "GENERATE_SERIES(BIGINT, BIGINT)": [
        ((2**40, 2**40 + 1), [2**40, 2**40 + 1]),
        ((0, 2**40), FAILS),
        *failing(2, (0, 1)),
    ],
    "GENERATE_SERIES(BIGINT, BIGINT, INTEGER)": [
        ((0, 2**33, 2**30), [n * 2**30 for n in range(9)]),
        ((0, 1, 0), FAILS),
        *failing(3, (0, 1, 1)),
    ],
    "ENTRIES(MAP<STRING, INTEGER>, BOOLEAN)": [
        (({"b": 1, "a": 2}, True), [("a", 2), ("b", 1)]),
        ((None, True), None),
        (({}, None), FAILS),
    ],
    "ENTRIES(MAP<STRING, BIGINT>, BOOLEAN)": [
        (({"b": 1, "a": None}, True), [("a", None), ("b", 1)]),
        ((None, False), None),
        (({}, None), FAILS),
    ],
    "ENTRIES(MAP<STRING, DOUBLE>, BOOLEAN)": [
        (({"b": 1.5}, False), [("b", 1.5)]),
        ((None, False), None),
        (({}, None), FAILS),
    ],
    "ENTRIES(MAP<STRING, BOOLEAN>, BOOLEAN)": [
        (({"b": True}, False), [("b", True)]),
        ((None, False), None),
        (({}, None), FAILS),
    ],
    "ENTRIES(MAP<STRING, STRING>, BOOLEAN)": [
        (({"foo": "1", "bar": "2", "baz": "3"}, False), [("bar", "2"), ("baz", "3"), ("foo", "1")]),
        ((None, False), None),
        (({}, None), FAILS),
    ],
    "AS_MAP(ARRAY<STRING>, ARRAY<INTEGER>)": [
        ((["a", "b", "c"], [1, 2]), {"a": 1, "b": 2, "c": None}),
        ((["a"], [1, 2]), {"a": 1}),
        *nulls(2, (["a"], [1])),
    ],
    "MAP_KEYS(MAP<STRING, INTEGER>)": [
        (({"foo": 1, "bar": 2, "baz": 3},), ["bar", "baz", "foo"]),
        (({},), []),
        (NULL, None),
    ],
    "MAP_VALUES(MAP<STRING, INTEGER>)": [(({"foo": 1, "bar": 2, "baz": None},), [2, None, 1]), (NULL, None)],
    "MAP_UNION(MAP<STRING, INTEGER>, MAP<STRING, INTEGER>)": [
        (({"a": 1, "b": 2}, {"b": 3, "c": None}), {"a": 1, "b": 3, "c": None}),
        ((None, {"a": 1}), {"a": 1}),
        (({"a": 1}, None), {"a": 1}),
        ((None, None), None),
    ],
    "TRANSFORM(ARRAY<INTEGER>, LAMBDA1)": [
        (([1, 2], lambda x: x + 1), [2, 3]),
        (([1, None], lambda x: x), [1, None]),
        *nulls(2, ([1], abs)),
    ],
    "TRANSFORM(MAP<STRING, INTEGER>, LAMBDA2, LAMBDA2)": [
        ((MANY, lambda k, v: k.upper(), lambda k, v: v * 2), {"A": 2, "B": 4, "C": 6}),
        ((MANY, lambda k, v: "same", lambda k, v: v), FAILS),
        ((MANY, lambda k, v: k, lambda k, v: None), FAILS),
        ((None, max, max), None),
    ],
    "FILTER(ARRAY<INTEGER>, LAMBDA1)": [
        (([1, 2, 3], lambda x: x > 1), [2, 3]),
        (([1], lambda x: None), FAILS),
        *nulls(2, ([1], bool)),
    ],
    "FILTER(MAP<STRING, INTEGER>, LAMBDA2)": [
        ((MANY, lambda k, v: v > 1 and k != "c"), {"b": 2}),
        (({"a": None}, lambda k, v: True), FAILS),
        (({"a": None}, lambda k, v: False), {}),
        ((None, max), None),
    ],
    "REDUCE(ARRAY<INTEGER>, INTEGER, LAMBDA2)": [
        (([1, 2, 3], 10, lambda s, x: s + x), 16),
        (([], 5, max), 5),
        ((None, 5, max), 5),
        (([1], None, max), None),
    ],
    "REDUCE(MAP<STRING, INTEGER>, STRING, LAMBDA3)": [
        (({"foo": 1, "bar": 2, "baz": 3}, "", lambda s, k, v: f"{s}{k}{v}"), "bar2baz3foo1"),
        ((None, "x", max), "x"),
        ((MANY, None, max), None),
    ],
    "COALESCE(INTEGER, INTEGER, INTEGER)": [
        ((None, 2, 3), 2),
        ((1, None, 3), 1),
        ((None, None, None), None),
        ((1, 2, 3), 1),
    ],
    "IFNULL(STRING, STRING)": [((None, "b"), "b"), (("a", "b"), "a"), ((None, None), None)],
    "NULLIF(INTEGER, INTEGER)": [((1, 1), None), ((1, 2), 1), ((1, None), 1), ((None, 1), None)],
    "NULLIF(DOUBLE, DOUBLE)": [((NAN, NAN), None), ((0.0, -0.0), 0.0)],
    "AS_VALUE(STRING)": [(("a",), "a"), (NULL, None)],
}


@pytest.mark.parametrize(("call", "arguments", "expected"), listed(CASES))
def test_it_answers_what_java_does(call: str, arguments: tuple[Any, ...], expected: Any) -> None:
    check(call, arguments, expected)


def test_arguments_are_left_as_they_are() -> None:
    array = [3, 1, 2]
    chosen("ARRAY_SORT(ARRAY<INTEGER>)").overload.body(array)
    assert array == [3, 1, 2]


def test_a_new_map_remembers_how_much_room_java_gave_it() -> None:
    union = chosen("MAP_UNION(MAP<STRING, INTEGER>, MAP<STRING, INTEGER>)").overload.body
    made = union(MANY, {"d": 4})
    assert isinstance(made, SizedMap)
    assert made.capacity == 5


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("ENTRIES(MAP<STRING, INTEGER>, BOOLEAN)", "ARRAY<STRUCT<K STRING, V INTEGER>>"),
        ("AS_MAP(ARRAY<STRING>, ARRAY<DECIMAL(3, 1)>)", "MAP<STRING, DECIMAL(3, 1)>"),
        ("MAP_VALUES(MAP<STRING, ARRAY<INTEGER>>)", "ARRAY<ARRAY<INTEGER>>"),
        ("COALESCE(DECIMAL(3, 1), DECIMAL(3, 1))", "DECIMAL(3, 1)"),
    ],
)
def test_the_result_has_the_type_that_the_arguments_say(call: str, expected: str) -> None:
    assert str(chosen(call).result) == expected
