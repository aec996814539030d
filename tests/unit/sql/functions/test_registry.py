from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from headrace.sql.errors import SqlError
from headrace.sql.functions import Registry, aggregate, scalar
from headrace.sql.functions.patterns import Argument, LambdaShape, LambdaType, UnitArgument, Unresolved
from headrace.sql.functions.registry import Choice, declared_by
from headrace.sql.functions.signatures import signature
from headrace.sql.tree.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    Array,
    Decimal,
    Field,
    Map,
    Struct,
)

HALF, WIDE = Decimal(3, 1), Decimal(19, 0)


def chosen(arguments: Sequence[Argument], *signatures: str, **options: Any) -> Choice:
    @scalar("F", *signatures, **options)
    def f(*_: object) -> None: ...

    return Registry().extended(f).choose("F", arguments)


def signature_chosen(arguments: Sequence[Argument], *signatures: str) -> str:
    return str(chosen(arguments, *signatures).overload.signature)


def code_of(arguments: Sequence[Argument], *signatures: str) -> str:
    with pytest.raises(SqlError) as raised:
        chosen(arguments, *signatures)
    return raised.value.code


@pytest.mark.parametrize(
    "text",
    [
        "() -> DOUBLE",
        "(STRING text, INTEGER length) -> STRING",
        "(ARRAY<T> list, (T) => R mapper) -> ARRAY<R>",
        "(MAP<K, V>, (K, V) => BOOLEAN) -> MAP<K, V>",
        "(DECIMAL, DECIMAL(4, 2)) -> STRUCT<A INTEGER, B ARRAY<STRING>>",
        "(STRUCT, ANY...) -> BIGINT",
        "(INTERVALUNIT unit, INTEGER, DATE) -> DATE",
    ],
)
def test_a_signature_is_read_and_written_back(text: str) -> None:
    assert str(signature(text)) == text


@pytest.mark.parametrize("text", ["(NOTHING) -> T", "(T... a, T... b) -> T", "T -> T", "(T) -> T T"])
def test_a_signature_with_a_mistake_is_refused(text: str) -> None:
    with pytest.raises(SqlError):
        signature(text)


def test_init_parameters_are_marked() -> None:
    assert [p.is_const for p in signature("(T column, INTEGER k const, BOOLEAN const) -> T").parameters] == [
        False,
        True,
        True,
    ]


def test_the_exact_overload_wins_before_implicit_casts() -> None:
    both = ("(DOUBLE) -> DOUBLE", "(BIGINT) -> BIGINT")
    assert signature_chosen([DOUBLE], *both) == "(DOUBLE) -> DOUBLE"
    assert signature_chosen([BIGINT], *both) == "(BIGINT) -> BIGINT"
    assert code_of([INTEGER], *both) == "call.ambiguous"


@pytest.mark.parametrize(
    ("argument", "parameter"),
    [
        (INTEGER, "BIGINT"),
        (INTEGER, "DECIMAL"),
        (BIGINT, "DECIMAL"),
        (HALF, "DOUBLE"),
        (STRING, "DATE"),
        (STRING, "TIME"),
        (STRING, "TIMESTAMP"),
        (STRING, "BYTES"),
    ],
)
def test_arguments_are_cast_implicitly(argument: Argument, parameter: str) -> None:
    assert chosen([argument], f"({parameter}) -> {parameter}")


@pytest.mark.parametrize(
    ("argument", "parameter"),
    [(BIGINT, "INTEGER"), (DOUBLE, "DECIMAL"), (INTEGER, "STRING"), (DATE, "STRING"), (BYTES, "STRING")],
)
def test_nothing_narrows_implicitly(argument: Argument, parameter: str) -> None:
    assert code_of([argument], f"({parameter}) -> {parameter}") == "call.no-overload"


def test_an_overload_without_variadic_parameter_wins() -> None:
    assert signature_chosen([STRING], "(STRING...) -> STRING", "(STRING) -> STRING") == "(STRING) -> STRING"


def test_more_parameters_win_then_fewer_generics() -> None:
    assert signature_chosen([STRING], "(STRING...) -> T", "(STRING, STRING...) -> T") == "(STRING, STRING...) -> T"
    assert signature_chosen([STRING], "(T) -> T", "(STRING) -> T") == "(STRING) -> T"


def test_a_variadic_parameter_takes_none_and_many() -> None:
    for count in (1, 2, 5):
        assert chosen([INTEGER] + [STRING] * (count - 1), "(INTEGER, STRING...) -> STRING")
    assert code_of([], "(INTEGER, STRING...) -> STRING") == "call.no-overload"


def test_a_variadic_parameter_may_be_in_the_middle() -> None:
    assert chosen([INTEGER, STRING, STRING, BIGINT], "(INTEGER, STRING..., BIGINT) -> STRING")
    assert chosen([INTEGER, BIGINT], "(INTEGER, STRING..., BIGINT) -> STRING")


def test_an_array_stands_for_variadic_arguments_so_a_lone_null_is_ambiguous() -> None:
    assert chosen([Array(STRING)], "(STRING...) -> STRING")
    assert code_of([None], "(STRING...) -> STRING") == "call.ambiguous"
    assert chosen([None, None], "(STRING...) -> STRING")


def test_null_fits_everything_and_can_be_ambiguous() -> None:
    assert code_of([None], "(INTEGER) -> INTEGER", "(STRING) -> STRING") == "call.ambiguous"
    assert chosen([None, STRING], "(INTEGER, INTEGER) -> INTEGER", "(STRING, STRING) -> STRING").result == STRING


def test_a_generic_is_one_type_and_takes_no_casts() -> None:
    assert chosen([Array(BIGINT), BIGINT], "(ARRAY<T>, T) -> T").result == BIGINT
    assert code_of([Array(BIGINT), INTEGER], "(ARRAY<T>, T) -> T") == "call.no-overload"
    assert code_of([HALF, WIDE], "(T, T) -> T") == "call.no-overload"


def test_generics_are_found_in_maps_and_arrays() -> None:
    choice = chosen([Map(STRING, Array(HALF))], "(MAP<K, ARRAY<V>>) -> MAP<K, V>")
    assert choice.result == Map(STRING, HALF)


def test_a_generic_that_nothing_decides_has_no_type() -> None:
    with pytest.raises(Unresolved):
        _ = chosen([None], "(T) -> T").result


def test_lambdas_are_chosen_by_their_number_of_parameters() -> None:
    both = ("(ARRAY<T>, (T) => R) -> ARRAY<R>", "(ARRAY<T>, (T, T) => R) -> R")
    assert signature_chosen([Array(STRING), LambdaShape(1)], *both) == both[0]
    assert signature_chosen([Array(STRING), LambdaShape(2)], *both) == both[1]
    assert chosen([Array(STRING), LambdaType((STRING,), BIGINT)], *both).result == Array(BIGINT)
    assert code_of([Array(STRING), STRING], *both) == "call.no-overload"


def test_a_unit_of_time_fits_only_a_parameter_for_it() -> None:
    assert chosen([UnitArgument(), INTEGER], "(INTERVALUNIT, INTEGER) -> INTEGER")
    assert code_of([STRING, INTEGER], "(INTERVALUNIT, INTEGER) -> INTEGER") == "call.no-overload"
    assert code_of([UnitArgument()], "(STRING) -> STRING") == "call.no-overload"


def test_structs_fit_by_their_fields() -> None:
    found = Struct((Field("A", INTEGER), Field("B", STRING)))
    assert chosen([found], "(STRUCT<B STRING, A INTEGER>) -> BIGINT")
    assert chosen([found], "(STRUCT) -> BIGINT")
    assert code_of([found], "(STRUCT<A INTEGER>) -> BIGINT") == "call.no-overload"
    assert code_of([found], "(STRUCT<A BIGINT, B STRING>) -> BIGINT") == "call.no-overload"


def test_a_result_type_is_computed_from_the_arguments() -> None:
    assert chosen([HALF], "(DECIMAL) -> DECIMAL", returns=lambda types: types[0]).result == HALF


def test_an_unknown_function_is_an_error_with_the_nearest_name() -> None:
    @scalar("SUBSTRING", "(STRING) -> STRING")
    def substring(_: str) -> None: ...

    with pytest.raises(SqlError) as raised:
        Registry().extended(substring).kind("SUBSTRIN", at=7)
    assert (raised.value.code, raised.value.offset) == ("name.function", 7)
    assert "SUBSTRING" in str(raised.value)


def test_the_error_of_a_wrong_call_lists_what_is_possible() -> None:
    with pytest.raises(SqlError, match=r"(?s)`F`\(BOOLEAN, NULL\).*F\(INTEGER a, INTEGER\) -> INTEGER"):
        chosen([BOOLEAN, None], "(INTEGER a, INTEGER) -> INTEGER")


def test_an_aggregate_takes_no_casts_and_knows_its_state_and_init_arguments() -> None:
    @aggregate("TOP", "(T, INTEGER k const) -> ARRAY<T>", "(T, ANY..., INTEGER const) -> BIGINT", stored_as="ARRAY<T>")
    class Top: ...

    registry = Registry(declared_by(Top))
    choice = registry.choose("TOP", [STRING, INTEGER])
    assert (choice.result, choice.stored_type, choice.init_count) == (Array(STRING), Array(STRING), 1)
    assert registry.choose("TOP", [STRING, DATE, DATE, INTEGER]).init_count == 1
    with pytest.raises(SqlError):
        registry.choose("TOP", [STRING, STRING])


def test_a_name_has_functions_of_one_kind() -> None:
    @scalar("F", "(T) -> T")
    @aggregate("F", "(T) -> T", stored_as="T")
    class F: ...

    with pytest.raises(SqlError, match="F is aggregate already"):
        Registry(declared_by(F))
