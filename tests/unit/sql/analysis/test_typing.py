from __future__ import annotations

from typing import Any

import pytest

from headrace.sql.analysis.typing import type_of
from headrace.sql.errors import SqlError
from headrace.sql.functions import Registry, aggregate, scalar, table
from headrace.sql.functions.registry import declared_by
from headrace.sql.text.parser import parse_columns, parse_expression

COLUMNS = {
    column.name: column.type
    for column in parse_columns(
        "A INT, B BIGINT, D DOUBLE, E DECIMAL(4, 2), S STRING, F BOOLEAN, Y BYTES, DT DATE, TM TIME, TS TIMESTAMP,"
        "L ARRAY<STRING>, N ARRAY<INT>, M MAP<STRING, INT>, T STRUCT<F0 INT, `g` STRUCT<H DOUBLE>>"
    )
}


@scalar("TRANSFORM", "(ARRAY<T>, (T) => R) -> ARRAY<R>", "(MAP<K, V>, (K, V) => L, (K, V) => R) -> MAP<L, R>")
@scalar("REDUCE", "(ARRAY<T>, S, (S, T) => S) -> S")
@scalar("ABS", "(INTEGER) -> INTEGER", "(BIGINT) -> BIGINT", "(DOUBLE) -> DOUBLE")
@scalar("ABS", "(DECIMAL) -> DECIMAL", returns=lambda types: types[0])  # type: ignore[arg-type, return-value]
@scalar("DATEADD", "(INTERVALUNIT, INTEGER, DATE) -> DATE")
@scalar("COALESCE", "(T, T...) -> T")
def anything(*_: Any) -> None: ...


@aggregate("COUNT", "(T) -> BIGINT", stored_as="BIGINT")
@aggregate("TOPK", "(T, INTEGER const) -> ARRAY<T>", stored_as="ARRAY<T>")
class Anything: ...


@table("EXPLODE", "(ARRAY<T>) -> T")
def explode(*_: Any) -> None: ...


FUNCTIONS = Registry(declared_by(anything, Anything, explode))


def typed(text: str) -> str:
    return str(type_of(parse_expression(text), COLUMNS, FUNCTIONS))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A + A", "INTEGER"),
        ("A + B", "BIGINT"),
        ("B * D", "DOUBLE"),
        ("E - D", "DOUBLE"),
        ("E + E", "DECIMAL(5, 2)"),
        ("A + E", "DECIMAL(13, 2)"),
        ("B * E", "DECIMAL(24, 2)"),
        ("E / E", "DECIMAL(11, 7)"),
        ("E % 1.5", "DECIMAL(3, 2)"),
        ("S + S", "STRING"),
        ("-E", "DECIMAL(4, 2)"),
        ("2.345", "DECIMAL(4, 3)"),
        ("0.005", "DECIMAL(4, 3)"),
        ("0." + "9" * 32, "DECIMAL(33, 32)"),
        ("1E3", "DOUBLE"),
        ("2147483648", "BIGINT"),
        ("DECIMAL '1.20'", "DECIMAL(3, 2)"),
        ("DATE '2020-01-02'", "DATE"),
        ("NULL", "None"),
        ("A = B AND NOT F OR S LIKE 'a%'", "BOOLEAN"),
        ("A BETWEEN 1 AND D", "BOOLEAN"),
        ("A IS DISTINCT FROM E", "BOOLEAN"),
        ("TS > DT AND DT = '2020' AND TM < '10:00'", "BOOLEAN"),
        ("L = L", "BOOLEAN"),
        ("CASE WHEN F THEN NULL WHEN F THEN A ELSE NULL END", "INTEGER"),
        ("CAST(NULL AS ARRAY<INT>)", "ARRAY<INTEGER>"),
        ("L[1]", "STRING"),
        ("M['a']", "INTEGER"),
        ("T->F0", "INTEGER"),
        ("T->`g`->H", "DOUBLE"),
        ("DATEADD(DAYS, 1, '2020-01-01')", "DATE"),
        ("ABS(E)", "DECIMAL(4, 2)"),
        ("COUNT(*)", "BIGINT"),
        ("TOPK(S, 3)", "ARRAY<STRING>"),
        ("EXPLODE(N)", "INTEGER"),
    ],
)
def test_types_follow_from_operators_and_functions(text: str, expected: str) -> None:
    assert typed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TRANSFORM(L, X => X + '!')", "ARRAY<STRING>"),
        ("TRANSFORM(N, X => X * E)", "ARRAY<DECIMAL(15, 2)>"),
        ("TRANSFORM(M, (K, V) => K, (K, V) => V > 1)", "MAP<STRING, BOOLEAN>"),
        ("REDUCE(N, 0, (S1, X) => S1 + X)", "INTEGER"),
        ("TRANSFORM(N, X => TRANSFORM(L, Z => X))", "ARRAY<ARRAY<INTEGER>>"),
    ],
)
def test_parameters_of_lambdas_get_the_types_of_what_they_walk_over(text: str, expected: str) -> None:
    assert typed(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ARRAY[1, 2147483648]", "ARRAY<BIGINT>"),
        ("ARRAY[NULL, 1, '2', 3.5]", "ARRAY<DECIMAL(11, 1)>"),
        ("ARRAY[1, '2147483647']", "ARRAY<BIGINT>"),
        ("ARRAY[A, '1e1']", "ARRAY<DECIMAL(10, 0)>"),
        ("ARRAY[D, '1.5']", "ARRAY<DOUBLE>"),
        ("ARRAY['a', 1, TRUE]", "ARRAY<STRING>"),
        ("ARRAY[F, 'yes']", "ARRAY<BOOLEAN>"),
        ("ARRAY[DT, '2020-01-01']", "ARRAY<DATE>"),
        ("ARRAY[ARRAY[1], ARRAY[2.5, NULL]]", "ARRAY<ARRAY<DECIMAL(11, 1)>>"),
        ("ARRAY[STRUCT(A := 1), STRUCT(B := 2, A := 1.5)]", "ARRAY<STRUCT<B INTEGER, A DECIMAL(11, 1)>>"),
        ("MAP('a' := 1, 'b' := B)", "MAP<STRING, BIGINT>"),
        ("MAP(1 := MAP('a' := 1), 2 := MAP('b' := 2.5))", "MAP<INTEGER, MAP<STRING, DECIMAL(11, 1)>>"),
        ("STRUCT(X := A, Y := ARRAY[S])", "STRUCT<X INTEGER, Y ARRAY<STRING>>"),
    ],
)
def test_lists_have_a_common_type(text: str, expected: str) -> None:
    assert typed(text) == expected


@pytest.mark.parametrize(
    ("text", "code", "offset"),
    [
        ("A + NOTHING", "name.column", 4),
        ("NOTHING(A)", "name.function", 0),
        ("T->NOTHING", "name.field", 3),
        ("A->F0", "type.struct", 0),
        ("A[1]", "type.subscript", 0),
        ("L['a']", "type.subscript", 0),
        ("1 + (A + S)", "type.arithmetic", 5),
        ("A + NULL", "type.arithmetic", 0),
        ("-S", "type.arithmetic", 0),
        ("A = S", "type.compare", 0),
        ("F AND A = NULL", "type.compare", 10),
        ("F < F", "type.compare", 0),
        ("L = M", "type.compare", 0),
        ("TM = TS", "type.compare", 0),
        ("A BETWEEN 1 AND 'a'", "type.compare", 0),
        ("A AND F", "type.boolean", 0),
        ("NOT S", "type.boolean", 4),
        ("A LIKE 'a'", "type.like", 0),
        ("CASE WHEN A THEN 1 END", "type.case", 10),
        ("CASE WHEN F THEN A ELSE B END", "type.case", 0),
        ("CASE WHEN F THEN NULL END", "type.case", 0),
        ("CASE A WHEN 1 THEN 2 END", "type.case", 0),
        ("CAST(F AS INT)", "type.cast", 0),
        ("CAST(N AS ARRAY<BOOLEAN>)", "type.cast", 0),
        ("ARRAY[]", "type.constructor", 0),
        ("ARRAY[NULL]", "type.constructor", 0),
        ("MAP()", "type.constructor", 0),
        ("MAP(NULL := 1)", "type.constructor", 0),
        ("ARRAY[A, 'a']", "type.list", 9),
        ("ARRAY[A, S]", "type.list", 9),
        ("ARRAY[F, 'maybe']", "type.list", 9),
        ("A IN (1, 'x')", "type.list", 9),
        ("A IN (ARRAY[1])", "type.list", 6),
        ("STRUCT(A := NULL)", "type.constructor", 12),
        ("STRUCT(A := 1, A := 2)", "name.duplicate", 0),
        ("ABS(S)", "call.no-overload", 0),
        ("COALESCE(A, NULL)", "call.ambiguous", 0),
        ("COALESCE(NULL, NULL, NULL)", "call.no-overload", 0),
        ("TRANSFORM(L, X => NULL)", "call.no-overload", 0),
        ("REDUCE(N, 0, (S1, X) => 'a')", "call.no-overload", 13),
        ("TRANSFORM(M, (K, K) => K, (K, V) => V)", "name.duplicate", 13),
        ("TOPK(S, A)", "call.literal", 8),
        ("DATE 'x'", "type.literal", 0),
        ("DATEADD('DAYS', 1, DT)", "call.no-overload", 0),
    ],
)
def test_what_has_no_type_is_an_error_that_says_where(text: str, code: str, offset: int) -> None:
    with pytest.raises(SqlError) as raised:
        typed(text)
    assert (raised.value.code, raised.value.offset) == (code, offset)


def test_lists_in_lists_are_typed_in_a_reasonable_time() -> None:
    nested = "ARRAY[" * 60 + "1" + "]" * 60
    assert typed(nested).startswith("ARRAY<ARRAY<")


def test_a_lambda_does_not_take_the_name_of_a_parameter_around_it() -> None:
    with pytest.raises(SqlError) as raised:
        typed("TRANSFORM(N, X => TRANSFORM(N, X => X))")
    assert raised.value.code == "name.lambda"
