from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import pytest

from headrace.errors import OperatorTypeError
from headrace.sql import functions as f
from headrace.sql.compile import table_function, value
from headrace.sql.errors import SqlError
from headrace.sql.functions.hints import signature_of
from headrace.sql.functions.plain import PlainAggregate
from headrace.sql.schema import Column
from headrace.sql.text.parser import parse_columns, parse_expression
from headrace.sql.tree.expressions import Call
from headrace.sql.tree.types import BIGINT, INTEGER, STRING, Field, Struct

V = TypeVar("V")
COLUMNS = [
    Column(column.name, column.type)
    for column in parse_columns("A INT, S STRING, T STRUCT<X INT, Y STRING>, L ARRAY<STRUCT<X INT, Y STRING>>")
]
ROW = [7, "text", (1, "one"), [(1, "one"), None]]


class Log:
    def __init__(self) -> None:
        self.causes: list[str] = []

    def failed(self, what: str, error: BaseException, row: Sequence[Any] | None = None) -> None:
        self.causes.append(str(error))


def called(body: Callable[..., Any], text: str, log: Log | None = None) -> Any:
    functions = f.builtin().extended(body)
    compiled = pickle.loads(pickle.dumps(value(parse_expression(text), COLUMNS, functions)))
    return compiled(ROW, log or Log())


@f.scalar("DESCRIBE_IT", "(STRUCT<X INTEGER, Y STRING> it) -> STRING")
def describe(it: dict[str, Any] | None) -> str | None:
    return None if it is None else f"{it['X']}:{it['Y']}"


@f.scalar("MAKE", "(INTEGER) -> STRUCT<N INTEGER, PARTS ARRAY<STRUCT<P STRING>>>")
def make(number: int) -> dict[str, Any]:
    return {"N": number, "PARTS": [{"P": "a"}, {}]}


@f.scalar("EACH", "(ARRAY<T>, (T) => R) -> ARRAY<R>")
def each(items: list[Any], mapper: Callable[[Any], Any]) -> list[Any]:
    assert all(item is None or isinstance(item, dict) for item in items)
    return [mapper(item) for item in items]


@f.scalar("TIMES")
def times(count: int, text: str | None) -> str | None:
    return None if text is None else text * count


def test_a_function_sees_structs_as_dicts_and_may_return_them() -> None:
    assert called(describe, "DESCRIBE_IT(T)") == "1:one"
    assert called(describe, "DESCRIBE_IT(STRUCT(Y := S, X := A))") == "7:text"
    assert called(make, "MAKE(A)") == (7, [("a",), (None,)])


def test_lambdas_are_given_what_they_were_written_for() -> None:
    assert called(each, "EACH(L, E => E->Y)") == ["one", None]


def test_functions_of_ours_keep_tuples() -> None:
    assert called(describe, "COALESCE(T, T, T)") == (1, "one")


def test_type_hints_say_a_signature() -> None:
    assert called(times, "TIMES(A, 'ab')") == "ab" * 7


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda: 1, None),
        (times, "(BIGINT count, STRING text) -> STRING"),
    ],
)
def test_a_signature_from_hints(body: Callable[..., Any], expected: str | None) -> None:
    if expected is None:
        with pytest.raises(SqlError, match="no type hint"):
            signature_of(body)
    else:
        assert str(signature_of(body)) == expected


def test_hints_that_say_no_sql_type_are_refused() -> None:
    def decimal(price: Decimal) -> bool:
        return True

    def named(*, only: int) -> bool:
        return True

    def anything(value: Any) -> Any: ...

    for body in (decimal, named, anything):
        with pytest.raises(SqlError, match="is not clear"):
            signature_of(body)


def of_generics(items: list[V], test: Callable[[V], bool], start: V | None) -> dict[str, V]:
    return {}


def test_type_variables_are_generics_and_callables_lambdas() -> None:
    expected = "(ARRAY<V> items, (V) => BOOLEAN test, V start) -> MAP<STRING, V>"
    assert str(signature_of(of_generics)) == expected


def test_the_hints_of_a_table_function_say_what_a_row_is() -> None:
    @f.table("LETTERS")
    def letters(text: str) -> list[str]:
        return list(text)

    def single(text: str) -> str:
        return text

    assert str(f.builtin().extended(letters).overloads("LETTERS")[0].signature) == "(STRING text) -> STRING"
    with pytest.raises(SqlError, match="a table function returns a list"):
        f.table("SINGLE")(single)


def test_a_signature_that_is_not_clear_is_told_with_the_decorator_that_was_used() -> None:
    def unclear(text): ...  # type: ignore[no-untyped-def]

    class Unclear:
        def initial(self): ...  # type: ignore[no-untyped-def]

        def add(self, value, state): ...  # type: ignore[no-untyped-def]

    for decorator, body in ((f.scalar, unclear), (f.table, unclear), (f.aggregate, Unclear)):
        with pytest.raises(SqlError, match="is not clear") as caught:
            decorator("UNCLEAR")(body)
        assert f'@{decorator.__name__}("NAME", ' in str(caught.value.hint)


def test_a_decorator_needs_the_name_of_the_function() -> None:
    for decorator in (f.scalar, f.table, f.aggregate):
        with pytest.raises(OperatorTypeError, match="is given the name of the function") as caught:
            decorator(len)  # type: ignore[arg-type]
        assert caught.value.hint == f'Write @{decorator.__name__}("NAME").'


def test_what_declares_no_function_is_refused() -> None:
    for given in (lambda text: text, len, pytest):
        with pytest.raises(SqlError, match="declares no function of SQL"):
            f.builtin().extended(given)


def test_a_function_takes_as_many_arguments_as_its_signature_says() -> None:
    @f.scalar("ONE", "(STRING, STRING) -> STRING")
    def one(text: str) -> str:
        return text

    @f.scalar("MANY", "(STRING...) -> STRING")
    def many(text: str) -> str:
        return text

    for body, count in ((one, "2 arguments"), (many, "2 arguments")):
        with pytest.raises(SqlError, match=f"is called with {count}, and .*does not take as many"):
            f.builtin().extended(body)


def test_the_methods_of_an_aggregate_are_there_and_take_what_they_are_given() -> None:
    class WithoutInitial:
        def add(self, value: int, state: int) -> int:
            return value

    class Narrow(WithoutInitial):
        def initial(self) -> int:
            return 0

        def add(self, value: int) -> int:  # type: ignore[override]
            return value

    declared = f.aggregate("A", "(BIGINT) -> BIGINT", stored_as="BIGINT")
    with pytest.raises(SqlError, match="the aggregate A has no method initial"):
        f.builtin().extended(declared(WithoutInitial))
    with pytest.raises(SqlError, match=r"A is called with 2 arguments, and .*Narrow\.add\(self, value: "):
        f.builtin().extended(declared(Narrow))


@f.aggregate("WEIGHTED")
class Weighted:
    def __init__(self, least: float) -> None:
        self._least = least

    def initial(self) -> float:
        return 0.0

    def add(self, value: tuple[float, int], total: float) -> float:
        return total + value[0] * value[1] if value[0] >= self._least else total

    def merge(self, left: float, right: float) -> float:
        return left + right

    def result(self, total: float) -> str:
        return f"about {total:.0f}"


def test_the_hints_of_the_methods_of_an_aggregate_say_its_signature() -> None:
    overload = f.builtin().extended(Weighted).overloads("WEIGHTED")[0]
    assert str(overload.signature) == "(DOUBLE, BIGINT, DOUBLE least) -> STRING"
    assert [parameter.is_const for parameter in overload.signature.parameters] == [False, False, True]
    assert str(overload.stored_as) == "DOUBLE"


def test_an_aggregate_without_what_it_needs_is_refused() -> None:
    class Incomplete:
        def initial(self) -> int:
            return 0

    with pytest.raises(SqlError, match=r"the signature of .*Incomplete is not clear: it has no method add"):
        f.aggregate("INCOMPLETE")(Incomplete)
    with pytest.raises(SqlError, match="the aggregate INCOMPLETE does not say what it is stored as"):
        f.aggregate("INCOMPLETE", "(BIGINT) -> BIGINT")(Incomplete)


def _returning(signature: str, result: Any) -> Callable[..., Any]:
    @f.scalar("RETURNS", f"() -> {signature}")
    def returns() -> Any:
        return result

    return returns


@pytest.mark.parametrize(
    ("signature", "result", "expected"),
    [
        ("DOUBLE", 1, 1.0),
        ("DECIMAL(4, 2)", 1, Decimal("1.00")),
        ("DECIMAL(4, 2)", Decimal("1.5"), Decimal("1.50")),
        ("ARRAY<DOUBLE>", (1, None), [1.0, None]),
        ("MAP<STRING, DOUBLE>", {"a": 1}, {"a": 1.0}),
        ("STRUCT<A DOUBLE>", (1,), (1.0,)),
        ("BIGINT", None, None),
    ],
)
def test_what_a_function_returns_becomes_a_value_of_its_type(signature: str, result: Any, expected: Any) -> None:
    functions = f.builtin().extended(_returning(signature, result))
    assert repr(value(parse_expression("RETURNS()"), COLUMNS, functions)(ROW, Log())) == repr(expected)


@pytest.mark.parametrize(
    ("signature", "result"),
    [
        ("INTEGER", 2**31),
        ("INTEGER", True),
        ("BIGINT", 1.5),
        ("STRING", 1),
        ("BOOLEAN", 1),
        ("BYTES", "a"),
        ("DOUBLE", "1"),
        ("DECIMAL(4, 2)", 1.5),
        ("DECIMAL(4, 2)", Decimal("1.555")),
        ("ARRAY<STRING>", "text"),
        ("MAP<STRING, STRING>", ["a"]),
        ("STRUCT<A INTEGER>", {"B": 1}),
        ("STRUCT<A INTEGER>", (1, 2)),
        ("STRUCT<A INTEGER>", [1]),
    ],
)
def test_a_function_that_returns_another_type_fails(signature: str, result: Any) -> None:
    log = Log()
    functions = f.builtin().extended(_returning(signature, result))
    assert value(parse_expression("RETURNS()"), COLUMNS, functions)(ROW, log) is None
    assert len(log.causes) == 1


def test_a_table_function_gives_rows_of_structs() -> None:
    @f.table("PAIRS", "(STRING) -> STRUCT<A STRING, B INTEGER>")
    def pairs(text: str) -> list[dict[str, Any]]:
        return [{"A": text, "B": at} for at in range(2)]

    call = parse_expression("PAIRS(S)")
    assert isinstance(call, Call)
    rows = table_function(call, COLUMNS, f.builtin().extended(pairs))
    assert rows(ROW, Log()) == [("text", 0), ("text", 1)]


def test_a_function_that_is_declared_again_takes_the_place_of_the_old_one() -> None:
    @f.scalar("TIMES", "(BIGINT c, STRING t) -> STRING")
    def again(count: int, text: str) -> str:
        return "again"

    functions = f.builtin().extended(times).extended(again)
    assert len(functions.overloads("TIMES")) == 1
    assert value(parse_expression("TIMES(A, S)"), COLUMNS, functions)(ROW, Log()) == "again"


class Totals:
    def initial(self) -> dict[str, int]:
        return {"SUM": 0, "COUNT": 0}

    def add(self, value: dict[str, Any] | None, state: dict[str, int]) -> dict[str, int]:
        if value is None:
            return state
        return {"SUM": state["SUM"] + value["X"], "COUNT": state["COUNT"] + 1}

    def undo(self, value: dict[str, Any], state: dict[str, int]) -> dict[str, int]:
        return {"SUM": state["SUM"] - value["X"], "COUNT": state["COUNT"] - 1}

    def merge(self, left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
        return {name: left[name] + right[name] for name in left}

    def result(self, state: dict[str, int]) -> str:
        return f"{state['SUM']}/{state['COUNT']}"


def test_an_aggregate_sees_values_and_states_as_dicts() -> None:
    stored = Struct((Field("SUM", BIGINT), Field("COUNT", INTEGER)))
    totals = PlainAggregate(Totals(), (COLUMNS[2].type,), stored, STRING)
    again = pickle.loads(pickle.dumps(totals))
    state = again.add((5, "a"), totals.add((1, None), totals.initial()))
    assert state == (6, 2)
    assert totals.undo((5, "a"), state) == (1, 1)
    assert totals.merge(state, state) == (12, 4)
    assert totals.result(state) == "6/2"
    assert totals.add(None, state) == (6, 2)
