"""Generated code of expressions against a plain interpreter: the same values, and the same failures logged."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.sql.analysis.binding import scope_of_row
from headrace.sql.analysis.typing import bound_in
from headrace.sql.compile import projection
from headrace.sql.functions import Registry, scalar
from headrace.sql.schema import Column
from headrace.sql.text.format import shown
from headrace.sql.text.parser import parse_columns
from headrace.sql.tree import expressions as e
from headrace.sql.tree import types as t
from tests.property.sql_interpreter import Interpreter

COLUMNS = [
    Column(column.name, column.type)
    for column in parse_columns(
        "I INT, J INT, B BIGINT, D DOUBLE, E DECIMAL(4, 2), G DECIMAL(6, 1), S STRING, U STRING, F BOOLEAN, Y BYTES,"
        "DT DATE, TM TIME, TS TIMESTAMP, AI ARRAY<INT>, AD ARRAY<DOUBLE>, AS ARRAY<STRING>, MI MAP<STRING, INT>,"
        "T STRUCT<X INT, Z STRING>".replace("AS ARRAY", "`AS` ARRAY")
    )
]
TYPES: dict[str, t.SqlType] = {column.name: column.type for column in COLUMNS}


@scalar("TRANSFORM", "(ARRAY<T>, (T) => R) -> ARRAY<R>")
def transform(items: list[Any] | None, mapper: Callable[[Any], Any]) -> list[Any] | None:
    return None if items is None else [mapper(item) for item in items]


@scalar("IFNULL", "(T, T) -> T")
def if_null(first: Any, second: Any) -> Any:
    return second if first is None else first


@scalar("FAILS", "(T) -> T")
def fails(_: Any) -> Any:
    raise ValueError


FUNCTIONS = Registry().extended(transform, if_null, fails)

WHOLES = [0, 1, -1, 2, 3, 7, -7, 100, 2**31 - 1, -(2**31)]
LONGS = [*WHOLES, 2**53 + 1, 2**63 - 1, -(2**63), 2**31]
REALS = [0.0, -0.0, 1.0, 1.5, -2.5, 0.1, 7.0, 2.0**53, 1e300, float("inf"), float("-inf"), float("nan")]
WHOLE, LONG, REAL = st.sampled_from(WHOLES), st.sampled_from(LONGS), st.sampled_from(REALS)
TEXT = st.sampled_from(
    [
        "",
        "a",
        "b",
        "a%",
        "ab",
        "%",
        "_",
        "a\nb",
        "1",
        "-7",
        "1.5",
        "true",
        "2020-01-01",
        "10:30",
        "\uffff",
        "\U00010000",
    ]
)


def decimals(scale: int, limit: int) -> list[Decimal]:
    return [Decimal(units).scaleb(-scale) for units in (0, 1, -1, 25, 100, -250, limit, -limit)]


NUMBERS_OF: dict[str, list[Any]] = {
    "I": WHOLES, "J": WHOLES, "B": LONGS, "D": REALS, "E": decimals(2, 9999), "G": decimals(1, 999999),
}  # fmt: skip
VALUES: dict[str, st.SearchStrategy[Any]] = {
    **{name: st.sampled_from(numbers) for name, numbers in NUMBERS_OF.items()},
    "S": TEXT, "U": TEXT,
    "F": st.booleans(), "Y": st.sampled_from([b"", b"\x00", b"\x7f", b"\x80"]), "DT": st.sampled_from([0, 18262, -1]),
    "TM": st.sampled_from([0, 37_800_000]), "TS": st.sampled_from([0, 1577836800000, -1]),
    "AI": st.lists(st.none() | WHOLE, max_size=3), "AD": st.lists(st.none() | REAL, max_size=3),
    "AS": st.lists(st.none() | TEXT, max_size=3), "MI": st.dictionaries(TEXT, st.none() | WHOLE, max_size=2),
    "T": st.tuples(st.none() | WHOLE, st.none() | TEXT),
}  # fmt: skip


def rarely_null(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A null makes null of most of what it meets, and hides what the rest of the tree gives."""
    return st.integers(0, 9).flatmap(lambda number: st.none() if number == 9 else values)


ROWS = st.tuples(*(rarely_null(VALUES[column.name]) for column in COLUMNS)).map(list)

LEAVES: dict[str, st.SearchStrategy[e.Expression]] = {
    "INT": st.sampled_from("IJ").map(e.Column) | WHOLE.map(e.IntegerLiteral),
    "LONG": st.just(e.Column("B")) | LONG.map(e.LongLiteral),
    "REAL": st.just(e.Column("D")) | st.sampled_from([0.0, 1.5, -2.5, 1e300]).map(e.DoubleLiteral),
    "DECIMAL": st.sampled_from("EG").map(e.Column) | st.sampled_from(decimals(2, 999)).map(e.DecimalLiteral),
    "TEXT": st.sampled_from("SU").map(e.Column) | TEXT.map(e.StringLiteral),
    "BOOL": st.just(e.Column("F")) | st.booleans().map(e.BooleanLiteral),
    "DATE": st.just(e.Column("DT")),
    "TIME": st.just(e.Column("TM")),
    "STAMP": st.just(e.Column("TS")),
    "BYTES": st.just(e.Column("Y")),
    "INTS": st.just(e.Column("AI")),
    "REALS": st.just(e.Column("AD")),
    "TEXTS": st.just(e.Column("AS")),
    "MAP": st.just(e.Column("MI")),
    "STRUCT": st.just(e.Column("T")),
}
CASTS: dict[str, t.SqlType] = {
    "INT": t.INTEGER, "LONG": t.BIGINT, "REAL": t.DOUBLE, "DECIMAL": t.Decimal(6, 2), "TEXT": t.STRING,
    "BOOL": t.BOOLEAN,
    "DATE": t.DATE, "TIME": t.TIME, "STAMP": t.TIMESTAMP, "BYTES": t.BYTES, "TEXTS": t.Array(t.STRING),
}  # fmt: skip
NUMBERS = ("INT", "LONG", "REAL", "DECIMAL")
ORDERED = ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM")
EQUALITY = ("=", "<>", "IS DISTINCT FROM")
PAIRS = [(first, second) for first in NUMBERS for second in NUMBERS] + [
    ("TEXT", "TEXT"), ("BYTES", "BYTES"), ("DATE", "STAMP"), ("STAMP", "TEXT"), ("TEXT", "DATE"), ("TIME", "TEXT"),
]  # fmt: skip


class Growing:
    """Trees of a wanted kind, of limited depth. Inside of a lambda its parameter is an INT like others."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any]) -> None:
        self.draw = draw
        self.in_lambda = False

    def one(self, kinds: Sequence[str], depth: int) -> e.Expression:
        return self.tree(self.draw(st.sampled_from(kinds)), depth)

    def tree(self, kind: str, depth: int) -> e.Expression:
        if depth == 0 or self.draw(st.integers(0, 4)) == 0:
            if kind == "INT" and self.in_lambda and self.draw(st.booleans()):
                return e.LambdaVariable("L")
            return self.draw(LEAVES[kind])  # type: ignore[no-any-return]
        return self.draw(st.sampled_from([self.special, self.special, self.wrapped]))(kind, depth - 1)  # type: ignore[no-any-return]

    def wrapped(self, kind: str, depth: int) -> e.Expression:
        """What there is of every kind."""
        match self.draw(st.sampled_from(["case", "fails", "if null", "cast"])):
            case "case" if kind != "DECIMAL":
                default = self.tree(kind, depth) if self.draw(st.booleans()) else None
                return e.Case((e.When(self.tree("BOOL", depth), self.tree(kind, depth)),), default)
            case "fails":
                return e.Call("FAILS", (self.tree(kind, depth),))
            case "if null" if kind != "DECIMAL":
                return e.Call("IFNULL", (self.tree(kind, depth), self.tree(kind, depth)))
            case _ if kind in CASTS:
                sources = (*NUMBERS, "TEXT") if kind in NUMBERS else ("INTS",) if kind == "TEXTS" else ("TEXT",)
                return e.Cast(self.one(sources, depth), CASTS[kind])
        return self.tree(kind, depth)

    def special(self, kind: str, depth: int) -> e.Expression:
        """What gives values of this kind."""
        match kind:
            case "INT":
                return self.draw(st.sampled_from([self.number, self.reached]))(kind, depth)  # type: ignore[no-any-return]
            case "LONG" | "REAL" | "DECIMAL":
                return self.number(kind, depth)
            case "TEXT":
                return self.text(depth)
            case "BOOL":
                return self.draw(st.sampled_from([self.compared, self.logical, self.tested]))(depth)  # type: ignore[no-any-return]
            case "INTS":
                return self.ints(depth)
            case "REALS" | "TEXTS":
                item = "REAL" if kind == "REALS" else "TEXT"
                return e.ArrayOf(tuple(self.tree(item, depth) for _ in range(self.draw(st.integers(1, 3)))))
            case "MAP":
                return e.MapOf(((self.tree("TEXT", depth), self.tree("INT", depth)),))
            case "STRUCT":
                return e.StructOf((("X", self.tree("INT", depth)), ("Z", self.tree("TEXT", depth))))
        return self.tree(kind, depth)

    def number(self, kind: str, depth: int) -> e.Expression:
        if self.draw(st.integers(0, 5)) == 0:
            return e.Signed(self.draw(st.sampled_from("+-")), self.tree(kind, depth))
        others = {"INT": NUMBERS[:1], "LONG": NUMBERS[:2], "REAL": NUMBERS, "DECIMAL": ("INT", "LONG", "DECIMAL")}[kind]
        sides = [self.tree(kind, depth), self.one(others, depth)]
        return e.Binary(self.draw(st.sampled_from("+-*/%")), *self.draw(st.permutations(sides)))

    def reached(self, kind: str, depth: int) -> e.Expression:
        match self.draw(st.sampled_from(["array", "map", "struct"])):
            case "array":
                return e.Subscript(self.tree("INTS", depth), self.one(("INT", "LONG"), depth))
            case "map":
                return e.Subscript(self.tree("MAP", depth), self.tree("TEXT", depth))
        return e.Dereference(self.tree("STRUCT", depth), "X")

    def text(self, depth: int) -> e.Expression:
        match self.draw(st.sampled_from(["plus", "array", "struct", "cast"])):
            case "plus":
                return e.Binary("+", self.tree("TEXT", depth), self.tree("TEXT", depth))
            case "array":
                return e.Subscript(self.tree("TEXTS", depth), self.tree("INT", depth))
            case "struct":
                return e.Dereference(self.tree("STRUCT", depth), "Z")
        return e.Cast(self.one([kind for kind in LEAVES if kind != "BYTES"], depth), t.STRING)

    def ints(self, depth: int) -> e.Expression:
        if self.in_lambda or self.draw(st.booleans()):
            return e.ArrayOf(tuple(self.tree("INT", depth) for _ in range(self.draw(st.integers(1, 3)))))
        items = self.tree("INTS", depth)
        self.in_lambda = True
        body = self.tree("INT", depth)
        self.in_lambda = False
        return e.Call("TRANSFORM", (items, e.Lambda(("L",), body)))

    def compared(self, depth: int) -> e.Expression:
        if self.draw(st.integers(0, 3)) == 0:
            kind = self.draw(st.sampled_from(["BOOL", "INTS", "REALS", "TEXTS", "MAP", "STRUCT"]))
            return e.Binary(self.draw(st.sampled_from(EQUALITY)), self.tree(kind, depth), self.tree(kind, depth))
        first, second = self.draw(st.sampled_from(PAIRS))
        if self.draw(st.booleans()):
            return e.Binary(self.draw(st.sampled_from(ORDERED)), self.tree(first, depth), self.tree(second, depth))
        return e.Between(self.tree(first, depth), self.tree(second, depth), self.tree(second, depth))

    def logical(self, depth: int) -> e.Expression:
        if self.draw(st.integers(0, 3)) == 0:
            return e.Not(self.tree("BOOL", depth))
        return e.Binary(self.draw(st.sampled_from(["AND", "OR"])), self.tree("BOOL", depth), self.tree("BOOL", depth))

    def tested(self, depth: int) -> e.Expression:
        match self.draw(st.sampled_from(["null", "like", "in"])):
            case "null":
                return e.IsNull(self.one(list(LEAVES), depth), self.draw(st.booleans()))
            case "like":
                escape = self.draw(st.none() | st.just("%"))
                return e.Like(self.tree("TEXT", depth), self.tree("TEXT", depth), escape)
        kind = self.draw(st.sampled_from([*NUMBERS, "TEXT", "DATE", "INTS", "REALS", "STRUCT"]))
        items = [self.tree(kind, depth) for _ in range(self.draw(st.integers(1, 3)))]
        return e.In(self.tree(kind, depth), tuple(items))


@st.composite
def trees(draw: Callable[[st.SearchStrategy[Any]], Any]) -> e.Expression:
    return Growing(draw).one(list(LEAVES), draw(st.sampled_from([1, 1, 1, 2, 2, 3, 5])))


class Log:
    def __init__(self) -> None:
        self.failures: list[str] = []

    def failed(self, what: str, error: BaseException, row: Sequence[Any] | None = None) -> None:
        self.failures.append(what)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(trees(), min_size=1, max_size=3), st.lists(ROWS, min_size=1, max_size=4))
def test_generated_code_equals_a_plain_interpreter(drawn: list[e.Expression], rows: list[list[Any]]) -> None:
    agree(drawn, rows)


@pytest.mark.parametrize("operator", [*"+-*/%", *ORDERED])
def test_every_operator_on_every_pair_of_numbers_equals_a_plain_interpreter(operator: str) -> None:
    for first, second in permutations(NUMBERS_OF, 2):
        rows = []
        for left, right in product([None, *NUMBERS_OF[first]], [None, *NUMBERS_OF[second]]):
            given = {first: left, second: right}
            rows.append([given.get(column.name) for column in COLUMNS])
        agree([e.Binary(operator, e.Column(first), e.Column(second))], rows)


@pytest.mark.parametrize("name", NUMBERS_OF)
def test_the_sign_of_every_number_equals_a_plain_interpreter(name: str) -> None:
    rows = [[number if column.name == name else None for column in COLUMNS] for number in [None, *NUMBERS_OF[name]]]
    agree([e.Signed("-", e.Column(name)), e.Signed("+", e.Column(name))], rows)


def agree(drawn: list[e.Expression], rows: list[list[Any]]) -> None:
    compiled = projection(drawn, COLUMNS, FUNCTIONS)
    again = pickle.loads(pickle.dumps(compiled))
    bound = [bound_in(scope_of_row(TYPES, FUNCTIONS), tree) for tree in drawn]
    for row in rows:
        plain, log = Interpreter(row), Log()
        expected = [plain.guarded(each, shown(tree), {}) for each, tree in zip(bound, drawn, strict=True)]
        found = compiled(row, log)
        assert repr(found) == repr(expected)
        assert log.failures == plain.failures
        assert repr(again(row, Log())) == repr(expected)
