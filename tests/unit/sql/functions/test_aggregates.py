"""Aggregates: what comes of rows that are added, taken back, and merged, and what is stored meanwhile."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterable, Sequence
from decimal import Decimal as Exact
from typing import Any

import pytest

from headrace.sql.errors import SqlError
from headrace.sql.functions import builtin
from headrace.sql.functions.declare import Kind
from tests.unit.sql.functions.calling import chosen, same

NAN = math.nan


def made(call: str, *init: Any, settings: dict[str, Any] | None = None) -> Any:
    """The aggregate of a call such as ``TOPK(INTEGER, INTEGER)``, made with its literals."""
    choice = chosen(call)
    options: dict[str, Any] = {"types": choice.types} if choice.overload.is_typed else {}
    if choice.overload.is_configured:
        options["settings"] = settings or {}
    return choice.overload.body(*init, **options)


def folded(aggregate: Any, values: Iterable[Any]) -> Any:
    state = aggregate.initial()
    for value in values:
        state = aggregate.add(value, state)
    return state


def result(aggregate: Any, state: Any) -> Any:
    return aggregate.result(state) if hasattr(aggregate, "result") else state


FOLDS: dict[str, list[tuple[tuple[Any, ...], Sequence[Any], Any]]] = {
    "COUNT(INTEGER)": [((), [1, None, 1], 2), ((), [], 0)],
    "SUM(INTEGER)": [((), [1, None, 2], 3), ((), [None], 0), ((), [2**31 - 1, 1], -(2**31))],
    "SUM(BIGINT)": [((), [2**40, 1], 2**40 + 1), ((), [2**63 - 1, 1], -(2**63))],
    "SUM(DOUBLE)": [((), [0.1, 0.2, None], 0.30000000000000004), ((), [], 0.0)],
    "SUM(DECIMAL(4, 1))": [((), [Exact("1.5"), None, Exact("2.0")], Exact("3.5")), ((), [None], Exact("0"))],
    "AVG(INTEGER)": [((), [1, 2, None], 1.5), ((), [None], 0.0), ((), [2**31 - 1, 1], -(2**30) * 1.0)],
    "AVG(BIGINT)": [((), [2**40, 2**40 + 1], 2**40 + 0.5)],
    "AVG(DOUBLE)": [((), [1.5, 2.5], 2.0)],
    "MIN(INTEGER)": [((), [3, None, 1, 2], 1), ((), [None], None)],
    "MIN(BIGINT)": [((), [3, 1], 1)],
    "MIN(DOUBLE)": [((), [0.0, -0.0, NAN], -0.0)],
    "MIN(STRING)": [((), ["b", "a"], "a")],
    "MIN(BYTES)": [((), [b"\x01", b"\x80"], b"\x80")],
    "MIN(DATE)": [((), [2, 1], 1)],
    "MIN(TIME)": [((), [2, 1], 1)],
    "MIN(TIMESTAMP)": [((), [2, 1], 1)],
    "MIN(DECIMAL(3, 1))": [((), [Exact("2.5"), Exact("-1.0")], Exact("-1.0"))],
    "MAX(INTEGER)": [((), [3, None, 1], 3), ((), [None], None)],
    "MAX(BIGINT)": [((), [3, 2**40], 2**40)],
    "MAX(DOUBLE)": [((), [0.0, NAN, 5.0], NAN)],
    "MAX(STRING)": [((), ["\U0001f600", "\uffff"], "\uffff")],
    "MAX(BYTES)": [((), [b"\x80", b"\x01"], b"\x01")],
    "MAX(DATE)": [((), [2, 1], 2)],
    "MAX(TIME)": [((), [2, 1], 2)],
    "MAX(TIMESTAMP)": [((), [2, 1], 2)],
    "MAX(DECIMAL(3, 1))": [((), [Exact("2.5"), Exact("-1.0")], Exact("2.5"))],
    "SUM_LIST(ARRAY<INTEGER>)": [((), [[1, None, 2], None, []], 3), ((), [[2**31 - 1, 1]], -(2**31))],
    "SUM_LIST(ARRAY<BIGINT>)": [((), [[2**40], [1]], 2**40 + 1)],
    "SUM_LIST(ARRAY<DOUBLE>)": [((), [[0.5, 0.25], [1.0]], 1.75)],
    "COLLECT_LIST(INTEGER)": [((), [1, None, 1], [1, None, 1]), ((), [], [])],
    "COLLECT_SET(INTEGER)": [((), [2, None, 1, 2, None], [2, None, 1])],
    "COLLECT_SET(DOUBLE)": [((), [NAN, NAN, 0.0, -0.0], [NAN, 0.0, -0.0])],
    "HISTOGRAM(STRING)": [((), ["a", "b", "a"], {"a": 2, "b": 1}), ((), [None, None], {"null": 2})],
    "TOPK(INTEGER, INTEGER)": [((3,), [1, 5, None, 3, 5, 2], [5, 5, 3]), ((3,), [1], [1]), ((0,), [1], [])],
    "TOPK(BIGINT, INTEGER)": [((2,), [2**40, 1], [2**40, 1])],
    "TOPK(DOUBLE, INTEGER)": [((2,), [1.5, NAN, 2.5], [NAN, 2.5])],
    "TOPK(STRING, INTEGER)": [((2,), ["a", "c", "b"], ["c", "b"])],
    "TOPK(INTEGER, STRING, DOUBLE, INTEGER)": [
        ((2,), [(1, "x", 0.5), (None, "y", 1.0), (2, None, None), (2, "z", 2.0)], [(2, None, None), (2, "z", 2.0)]),
    ],
    "TOPKDISTINCT(INTEGER, INTEGER)": [((3,), [1, 5, None, 3, 5, 2], [5, 3, 2]), ((2,), [3, 1, 2], [3, 2])],
    "TOPKDISTINCT(BIGINT, INTEGER)": [((1,), [1, 2], [2])],
    "TOPKDISTINCT(DOUBLE, INTEGER)": [((2,), [1.0, 1.0, 0.5], [1.0, 0.5])],
    "TOPKDISTINCT(STRING, INTEGER)": [((2,), ["a", "b", "b"], ["b", "a"])],
    "TOPKDISTINCT(DECIMAL(3, 1), INTEGER)": [
        ((2,), [Exact("1.5"), Exact("2.5"), Exact("1.5")], [Exact("2.5"), Exact("1.5")])
    ],
    "TOPKDISTINCT(DATE, INTEGER)": [((1,), [1, 2], [2])],
    "TOPKDISTINCT(TIME, INTEGER)": [((1,), [1, 2], [2])],
    "TOPKDISTINCT(TIMESTAMP, INTEGER)": [((1,), [1, 2], [2])],
    "TOPKDISTINCT(BYTES, INTEGER)": [((1,), [b"\x80", b"\x01"], [b"\x01"])],
    "EARLIEST_BY_OFFSET(INTEGER)": [((), [None, 1, 2], 1), ((), [None], None)],
    "EARLIEST_BY_OFFSET(INTEGER, BOOLEAN)": [((False,), [None, 1], None), ((True,), [None, 1], 1)],
    "EARLIEST_BY_OFFSET(INTEGER, INTEGER)": [((2,), [None, 1, 2, 3], [1, 2])],
    "EARLIEST_BY_OFFSET(INTEGER, INTEGER, BOOLEAN)": [((2, False), [None, 1, 2], [None, 1])],
    "LATEST_BY_OFFSET(INTEGER)": [((), [1, 2, None], 2), ((), [None], None)],
    "LATEST_BY_OFFSET(INTEGER, BOOLEAN)": [((False,), [1, None], None)],
    "LATEST_BY_OFFSET(INTEGER, INTEGER)": [((2,), [1, 2, None, 3], [2, 3])],
    "LATEST_BY_OFFSET(INTEGER, INTEGER, BOOLEAN)": [((2, False), [1, 2, None], [2, None])],
    "ATTR(INTEGER)": [((), [1, 1], 1), ((), [1, 2], None), ((), [1, None], None), ((), [None], None), ((), [], None)],
    "ATTR(ARRAY<INTEGER>)": [((), [[1], [1]], [1])],
    "COUNT_DISTINCT(STRING)": [((), ["a", "b", "a", None], 2), ((), [], 0)],
    "CORRELATION(INTEGER, INTEGER)": [
        ((), [(1, 2), (2, 4), (3, None), (3, 6)], 1.0),
        ((), [(1, 1)], NAN),
        ((), [], NAN),
    ],
    "CORRELATION(BIGINT, BIGINT)": [((), [(1, 3), (2, 2), (3, 1)], -1.0)],
    "CORRELATION(DOUBLE, DOUBLE)": [
        ((), [(1.0, 1.0), (2.0, 2.0), (3.0, 1.0)], 0.0),
        ((), [(1.0, 1.0), (1.0, 2.0)], NAN),
    ],
    "STDDEV_SAMPLE(INTEGER)": [((), [2, 4, 4, 4, 5, 5, 7, 9, None], 2.138089935299395), ((), [1], 0.0), ((), [], 0.0)],
    "STDDEV_SAMPLE(BIGINT)": [((), [1, 3], 1.4142135623730951)],
    "STDDEV_SAMPLE(DOUBLE)": [((), [1.0, 3.0], 1.4142135623730951)],
    "STDDEV_SAMP(INTEGER)": [((), [2, 4, 4, 4, 5, 5, 7, 9, None], 4.571428571428571), ((), [1], 0.0)],
    "STDDEV_SAMP(BIGINT)": [((), [1, 3], 2.0)],
    "STDDEV_SAMP(DOUBLE)": [((), [1.0, 3.0], 2.0)],
}
CASES = [(call, init, values, expected) for call, found in FOLDS.items() for init, values, expected in found]
FOR_TABLES = [case for case in CASES if hasattr(chosen(case[0]).overload.body, "undo")]
ODD_WHEN_MERGED = ("LATEST_BY_OFFSET(INTEGER, INTEGER", "STDDEV_SAMP(")
"""Where ksqlDB has its own way: see below."""


@pytest.mark.parametrize(("call", "init", "values", "expected"), CASES)
def test_rows_are_folded(call: str, init: tuple[Any, ...], values: list[Any], expected: Any) -> None:
    aggregate = pickle.loads(pickle.dumps(made(call, *init)))  # it is sent to other processes
    found = result(aggregate, folded(aggregate, values))
    assert same(found, expected), f"{call} of {values!r} is {found!r}, not {expected!r}"


@pytest.mark.parametrize(("call", "init", "values", "expected"), FOR_TABLES)
def test_what_is_taken_back_was_never_there(call: str, init: tuple[Any, ...], values: list[Any], expected: Any) -> None:
    aggregate = made(call, *init)
    state = folded(aggregate, [*values, *values])
    for value in reversed(values):
        state = aggregate.undo(value, state)
    found = result(aggregate, state)
    if isinstance(expected, float) and not math.isnan(expected):
        assert found == pytest.approx(expected, abs=1e-9)
    else:
        assert same(found, expected)


@pytest.mark.parametrize(
    ("call", "init", "values", "expected"), [case for case in CASES if not case[0].startswith(ODD_WHEN_MERGED)]
)
def test_merged_sessions_are_one(call: str, init: tuple[Any, ...], values: list[Any], expected: Any) -> None:
    aggregate = made(call, *init)
    left = folded(aggregate, values[: len(values) // 2])
    right = folded(aggregate, values[len(values) // 2 :])
    found = result(aggregate, aggregate.merge(left, right))
    if isinstance(expected, float) and not math.isnan(expected):
        assert found == pytest.approx(expected)
    else:
        assert same(found, expected)


@pytest.mark.parametrize(("call", "init", "values", "expected"), CASES)
def test_a_state_is_never_changed_in_place(call: str, init: tuple[Any, ...], values: list[Any], expected: Any) -> None:
    aggregate = made(call, *init)
    state = folded(aggregate, values[:-1])
    before = repr(state)
    for value in values[-1:]:
        aggregate.merge(state, aggregate.add(value, state))
    assert repr(state) == before


@pytest.mark.parametrize(
    ("call", "stored", "returned"),
    [
        ("COUNT(STRING)", "BIGINT", "BIGINT"),
        ("SUM(DECIMAL(4, 1))", "DECIMAL(4, 1)", "DECIMAL(4, 1)"),
        ("AVG(INTEGER)", "STRUCT<SUM INTEGER, COUNT BIGINT>", "DOUBLE"),
        ("AVG(BIGINT)", "STRUCT<SUM BIGINT, COUNT BIGINT>", "DOUBLE"),
        ("AVG(DOUBLE)", "STRUCT<SUM DOUBLE, COUNT BIGINT>", "DOUBLE"),
        ("MAX(BYTES)", "BYTES", "BYTES"),
        ("SUM_LIST(ARRAY<BIGINT>)", "BIGINT", "BIGINT"),
        ("STDDEV_SAMP(INTEGER)", "STRUCT<SUM INTEGER, COUNT BIGINT, M2 DOUBLE>", "DOUBLE"),
        ("STDDEV_SAMPLE(DOUBLE)", "STRUCT<SUM DOUBLE, COUNT BIGINT, M2 DOUBLE>", "DOUBLE"),
        (
            "CORRELATION(DOUBLE, DOUBLE)",
            "STRUCT<X_SUM DOUBLE, Y_SUM DOUBLE, X_SQUARED_SUM DOUBLE, Y_SQUARED_SUM DOUBLE, XY_SUM DOUBLE,"
            " COUNT BIGINT>",
            "DOUBLE",
        ),
        ("COLLECT_LIST(MAP<STRING, INTEGER>)", "ARRAY<MAP<STRING, INTEGER>>", "ARRAY<MAP<STRING, INTEGER>>"),
        ("COLLECT_SET(STRING)", "ARRAY<STRING>", "ARRAY<STRING>"),
        ("TOPK(DOUBLE, INTEGER)", "ARRAY<DOUBLE>", "ARRAY<DOUBLE>"),
        (
            "TOPK(DOUBLE, STRING, DATE, INTEGER)",
            "ARRAY<STRUCT<`sort_col` DOUBLE, `col0` STRING, `col1` DATE>>",
            "ARRAY<STRUCT<`sort_col` DOUBLE, `col0` STRING, `col1` DATE>>",
        ),
        ("TOPKDISTINCT(DECIMAL(3, 1), INTEGER)", "ARRAY<DECIMAL(3, 1)>", "ARRAY<DECIMAL(3, 1)>"),
        ("HISTOGRAM(STRING)", "MAP<STRING, BIGINT>", "MAP<STRING, BIGINT>"),
        ("ATTR(STRING)", "ARRAY<STRUCT<VALUE STRING, COUNT INTEGER>>", "STRING"),
        ("EARLIEST_BY_OFFSET(STRING)", "STRUCT<SEQ BIGINT, VAL STRING>", "STRING"),
        ("LATEST_BY_OFFSET(STRING, INTEGER, BOOLEAN)", "ARRAY<STRUCT<SEQ BIGINT, VAL STRING>>", "ARRAY<STRING>"),
        ("COUNT_DISTINCT(STRING)", "ARRAY<INTEGER>", "BIGINT"),
    ],
)
def test_states_have_the_types_that_ksqldb_stores(call: str, stored: str, returned: str) -> None:
    assert str(chosen(call).stored_type) == stored
    assert str(chosen(call).result) == returned


def test_those_for_tables_can_take_back() -> None:
    able = {each.name for each in builtin() if each.kind is Kind.AGGREGATE and hasattr(each.body, "undo")}
    assert able == {
        "COUNT",
        "SUM",
        "AVG",
        "SUM_LIST",
        "COLLECT_LIST",
        "HISTOGRAM",
        "ATTR",
        "CORRELATION",
        "STDDEV_SAMPLE",
        "STDDEV_SAMP",
    }


def test_every_overload_of_an_aggregate_is_tried() -> None:
    tried = {f"{chosen(call).overload.name}{chosen(call).overload.signature}" for call in FOLDS}
    assert {f"{each.name}{each.signature}" for each in builtin() if each.kind is Kind.AGGREGATE} - tried == set()


def test_a_sum_of_decimals_that_does_not_fit_is_an_error() -> None:
    total = made("SUM(DECIMAL(4, 1))")
    with pytest.raises(OverflowError, match=r"the sum of 999.9 and 0.1 does not fit into DECIMAL\(4, 1\)"):
        folded(total, [Exact("999.9"), Exact("0.1")])


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_of_decimals_may_use_every_digit_of_its_type(sign: int) -> None:
    largest = Exact((sign < 0, (9,) * 38, -10))
    assert folded(made("SUM(DECIMAL(38, 10))"), [largest]) == largest


@pytest.mark.parametrize(("name", "values"), [("COLLECT_LIST", [1, 1]), ("COLLECT_SET", [1, 2])])
def test_a_limit_keeps_lists_short(name: str, values: list[int]) -> None:
    limited = made(f"{name}(INTEGER)", settings={"limit": "2"})
    assert folded(limited, [1, 1, 2, 3]) == values
    assert limited.merge([9], [1, 2, 3]) == [9, 1]
    assert folded(made(f"{name}(INTEGER)", settings={"limit": -1}), range(5)) == [0, 1, 2, 3, 4]


def test_a_histogram_has_a_thousand_keys_at_most() -> None:
    histogram = made("HISTOGRAM(STRING)")
    full = folded(histogram, [str(number) for number in range(1000)])
    assert histogram.add("new", full) == full
    assert histogram.add("7", full)["7"] == 2
    assert histogram.merge(full, {"new": 1}) == full
    assert histogram.undo("new", full) == full


def test_the_latest_values_of_merged_sessions_are_the_oldest_as_in_ksqldb() -> None:
    latest = made("LATEST_BY_OFFSET(INTEGER, INTEGER)", 2)
    merged = latest.merge(folded(latest, [1, 2]), folded(latest, [3, 4]))
    assert latest.result(merged) == [1, 2]


def test_the_variance_of_merged_sessions_divides_whole_numbers_as_in_ksqldb() -> None:
    variance, deviation = made("STDDEV_SAMP(INTEGER)"), made("STDDEV_SAMPLE(INTEGER)")
    # Averages 1.5 and 4: a distance of 3 in whole numbers, of 2.5 otherwise.
    merged = variance.merge(folded(variance, [1, 2]), folded(variance, [4]))
    assert variance.result(merged) == pytest.approx((0.5 + 2 * 1 * 9 / 3) / 2)
    exact = deviation.merge(folded(deviation, [1, 2]), folded(deviation, [4]))
    assert deviation.result(exact) == pytest.approx(math.sqrt((0.5 + 2 * 1 * 6.25 / 3) / 2))


@pytest.mark.parametrize("name", ["EARLIEST_BY_OFFSET", "LATEST_BY_OFFSET"])
def test_a_number_of_values_below_one_is_refused(name: str) -> None:
    with pytest.raises(SqlError, match="must be 1 or more, not 0") as raised:
        made(f"{name}(INTEGER, INTEGER)", 0)
    assert raised.value.code == "call.literal"


@pytest.mark.parametrize(
    ("call", "count", "value", "expected"),
    [
        # What stream-lib's HyperLogLog answers, run once with Java.
        ("COUNT_DISTINCT(INTEGER)", 1000, lambda n: n, 1002),
        ("COUNT_DISTINCT(BIGINT)", 1000, lambda n: n * 1000003, 992),
        ("COUNT_DISTINCT(STRING)", 1000, lambda n: f"user_{n}", 1007),
        ("COUNT_DISTINCT(DOUBLE)", 1000, lambda n: n / 7, 1008),
    ],
)
def test_distinct_values_are_estimated_as_by_ksqldb(call: str, count: int, value: Any, expected: int) -> None:
    counting = made(call)
    whole = folded(counting, map(value, range(count)))
    halves = counting.merge(folded(counting, map(value, range(600))), folded(counting, map(value, range(400, count))))
    assert counting.result(whole) == expected
    assert halves == whole
    assert len(whole) == 2731


@pytest.mark.parametrize(
    ("call", "value", "expected"),
    [
        # What stream-lib's MurmurHash answers, run once with Java.
        ("COUNT_DISTINCT(STRING)", "", 3008980656),
        ("COUNT_DISTINCT(STRING)", "abc", 2829375955),
        ("COUNT_DISTINCT(STRING)", "äöü", 1708117578),
        ("COUNT_DISTINCT(STRING)", "xä", 125739651),
        ("COUNT_DISTINCT(INTEGER)", -1, 2257181111),
        ("COUNT_DISTINCT(BIGINT)", 2**40, 3357743195),
        ("COUNT_DISTINCT(DOUBLE)", -0.0, 630388283),
        ("COUNT_DISTINCT(BOOLEAN)", True, 1948193093),
        ("COUNT_DISTINCT(DECIMAL(3, 2))", Exact("1.10"), 2199293356),
    ],
)
def test_a_value_sets_the_register_that_its_hash_says(call: str, value: Any, expected: int) -> None:
    words = made(call).add(value, made(call).initial())
    word = next(index for index, found in enumerate(words) if found)
    assert word == (expected >> 18) // 6
