"""Functions that only the cases call, declared in the way that users declare theirs."""

from __future__ import annotations

from typing import Any

from headrace.sql.functions.declare import aggregate, scalar, table
from headrace.sql.tree.types import SqlType
from headrace.sql.types.java_text import text_of

# Scalar functions


@scalar("BAD_UDF", "(INTEGER) -> STRING")
def bad_for_numbers(_: int) -> str:
    raise RuntimeError("boom!")


@scalar("BAD_UDF", "(BOOLEAN) -> INTEGER")
def bad_if_true(fails: bool) -> int:
    if fails:
        raise RuntimeError("boom!")
    return 0


class _EverySecond:
    """Null in every odd call."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, text: str) -> str | None:
        self._calls += 1
        return None if self._calls % 2 else text


@scalar("BAD_UDF", "(STRING) -> STRING", typed=True)
def bad_every_other_time(_: tuple[SqlType | None, ...]) -> Any:
    return _EverySecond()


@scalar("TEST_UDF", "(INTEGER, STRING) -> STRING")
def of_int_and_text(_: int, __: str) -> str:
    return "doStuffIntString"


@scalar("TEST_UDF", "(BIGINT, STRING) -> STRING")
def of_long_and_text(_: int, __: str) -> str:
    return "doStuffLongString"


@scalar("TEST_UDF", "(BIGINT, BIGINT, STRING) -> STRING")
def of_longs_and_text(_: int, __: int, ___: str) -> str:
    return "doStuffLongLongString"


@scalar("TEST_UDF", "(BIGINT...) -> STRING")
def of_longs(*_: int) -> str:
    return "doStuffLongVarargs"


@scalar("TEST_UDF", "(STRUCT<A STRING>) -> STRING")
def of_struct(struct: Any) -> str | None:
    return struct["A"]  # type: ignore[no-any-return]


@scalar("TEST_UDF", "() -> STRUCT<A STRING>")
def of_nothing() -> dict[str, str]:
    return {"A": "foo"}


@scalar("WHENCONDITION", "(BOOLEAN, BOOLEAN) -> BOOLEAN")
@scalar("WHENRESULT", "(INTEGER, BOOLEAN) -> INTEGER")
def only_if_called(result: Any, may_be_called: bool) -> Any:
    if not may_be_called:
        raise RuntimeError("nobody should have called this")
    return result


@scalar("TOSTRUCT", "(STRING) -> STRUCT<A STRING>")
def to_struct(text: str) -> dict[str, str]:
    return {"A": text}


# Aggregates


class _Sum:
    def initial(self) -> Any:
        return 0

    def add(self, value: Any, state: Any) -> Any:
        return state if value is None else state + value

    def undo(self, value: Any, state: Any) -> Any:
        return state if value is None else state - value

    def merge(self, left: Any, right: Any) -> Any:
        return left + right


@aggregate("TEST_UDAF", "(BIGINT) -> BIGINT", "(INTEGER) -> BIGINT", stored_as="BIGINT")
class WholeSum(_Sum):
    """Of whole numbers."""


@aggregate("TEST_UDAF", "(DOUBLE) -> DOUBLE", stored_as="DOUBLE")
class DoubleSum(_Sum):
    """Of doubles."""

    def initial(self) -> float:
        return 0.0


@aggregate("TEST_UDAF", "(STRING, STRING const) -> BIGINT", stored_as="BIGINT")
class LengthSum(_Sum):
    """Of lengths, that of a literal among them."""

    def __init__(self, first: str) -> None:
        self._first = len(first)

    def initial(self) -> int:
        return self._first

    def add(self, value: str | None, state: int) -> int:
        return state + len(value or "")


@aggregate(
    "TEST_UDAF",
    "(STRUCT<A INTEGER, B INTEGER>) -> STRUCT<A INTEGER, B INTEGER>",
    stored_as="STRUCT<A INTEGER, B INTEGER>",
)
class FieldSums:
    """Of each field."""

    def initial(self) -> dict[str, int]:
        return {"A": 0, "B": 0}

    def add(self, value: dict[str, int], state: dict[str, int]) -> dict[str, int]:
        return {name: state[name] + value[name] for name in state}

    def merge(self, left: dict[str, int], right: dict[str, int]) -> dict[str, int]:
        return self.add(left, right)


class _NumberAndLengths:
    """The sum of a number and the lengths of texts."""

    start = 0

    def initial(self) -> int:
        return self.start

    def add(self, value: tuple[Any, ...], state: int) -> int:
        return state + sum(len(each) if isinstance(each, str) else each or 0 for each in value)

    def undo(self, value: tuple[Any, ...], state: int) -> int:
        return state - sum(len(each) if isinstance(each, str) else each or 0 for each in value)

    def merge(self, left: int, right: int) -> int:
        return left + right


@aggregate("MULTI_ARG", "(BIGINT, STRING, INTEGER const, STRING... const) -> BIGINT", stored_as="BIGINT")
class MultiArg(_NumberAndLengths):
    """Starts with a number and the lengths of literals."""

    def __init__(self, first: int, *texts: str) -> None:
        self.start = first + sum(map(len, texts))


@aggregate("FOUR_ARG", "(BIGINT, STRING, STRING, STRING, INTEGER const, STRING... const) -> BIGINT", stored_as="BIGINT")
class FourArg(MultiArg):
    """The same of four columns."""


@aggregate(
    "FIVE_ARG",
    "(BIGINT, STRING, STRING, STRING, INTEGER, INTEGER const, STRING... const) -> BIGINT",
    stored_as="BIGINT",
)
class FiveArg(MultiArg):
    """The same of five columns."""


@aggregate("VAR_ARG", "(BIGINT, STRING...) -> BIGINT", stored_as="BIGINT")
class VarArg(_NumberAndLengths):
    """Of as many columns as there are."""

    def add(self, value: Any, state: int) -> int:
        return super().add(value if isinstance(value, tuple) else (value,), state)


@aggregate("MID_VAR_ARG", "(BIGINT, STRING..., INTEGER const, INTEGER const) -> BIGINT", stored_as="BIGINT")
class MidVarArg(VarArg):
    """The same, and two literals at the end."""

    def __init__(self, first: int, second: int) -> None:
        self.start = first + second


class _FirstOfWhole:
    """The first argument of the rows in which none is null."""

    def initial(self) -> list[Any]:
        return []

    def add(self, value: Any, state: list[Any]) -> list[Any]:
        given = value if isinstance(value, tuple) else (value,)
        return state if None in given else [*state, given[0]]

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        return left + right


@aggregate("GENERIC_VAR_ARG", "(A, B, C...) -> ARRAY<A>", stored_as="ARRAY<A>")
class GenericVarArg(_FirstOfWhole):
    """Of any types."""


@aggregate("OBJ_COL_ARG", "(INTEGER, ANY...) -> ARRAY<INTEGER>", stored_as="ARRAY<INTEGER>")
class ObjColArg(_FirstOfWhole):
    """Of a number and anything."""


# Table functions

_SCALARS = "INTEGER, BIGINT, DOUBLE, BOOLEAN, STRING, DECIMAL, STRUCT<A STRING>"


def _as_texts(types: tuple[SqlType | None, ...], values: tuple[Any, ...]) -> list[str | None]:
    return [None if value is None else text_of(value, type_) for value, type_ in zip(values, types, strict=True)]


@table("TEST_UDTF", f"({_SCALARS}) -> STRING", typed=True)
def texts_of_scalars(types: tuple[SqlType | None, ...]) -> Any:
    return lambda *values: _as_texts(types, values)


@table("TEST_UDTF", f"({', '.join(f'ARRAY<{type_}>' for type_ in _SCALARS.split(', '))}) -> STRING", typed=True)
def texts_of_arrays(types: tuple[Any, ...]) -> Any:
    return lambda *values: _as_texts(tuple(each.item for each in types), tuple(value[0] for value in values))


@table("TEST_UDTF", f"({', '.join(f'MAP<STRING, {type_}>' for type_ in _SCALARS.split(', '))}) -> STRING", typed=True)
def texts_of_maps(types: tuple[Any, ...]) -> Any:
    return lambda *values: _as_texts(
        tuple(each.value for each in types), tuple(next(iter(value.values())) for value in values)
    )


@table("TEST_UDTF", *(f"({type_}) -> {type_}" for type_ in _SCALARS.split(", ") if type_ != "DECIMAL"))
def only_one(value: Any) -> list[Any]:
    if value is None:
        raise TypeError("null is no value of Java's primitive types")
    return [value]


@table("TEST_UDTF", "(DECIMAL) -> DECIMAL(30, 10)")
def only_one_decimal(value: Any) -> list[Any]:
    return [value]


@table("THROWING_UDTF", "(BOOLEAN) -> BOOLEAN")
def throwing(fails: bool) -> list[bool]:
    if fails:
        raise RuntimeError("it fails")
    return [fails]
