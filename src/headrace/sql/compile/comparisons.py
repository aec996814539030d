"""Comparisons to Python: what is compared depends on both types, and a null makes every comparison false."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from headrace.sql.analysis import bound as b
from headrace.sql.compile import runtime
from headrace.sql.compile.equality import is_among
from headrace.sql.compile.knowing import can_be_null, is_plain
from headrace.sql.compile.recipes import EqualityTest, Value
from headrace.sql.compile.writer import Writer
from headrace.sql.tree.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
)
from headrace.sql.types.coercion import is_time
from headrace.sql.types.numbers import MILLIS_OF_DAY
from headrace.sql.types.times import parse_date, parse_time, parse_timestamp
from headrace.sql.types.utf16 import units

Write: TypeAlias = Callable[[Writer, b.Bound], str]
_PYTHON = {"=": "==", "<>": "!=", "IS DISTINCT FROM": "!="}
_UNEQUAL = ("<>", "IS DISTINCT FROM")
_PARSERS = {TIME: parse_time, TIMESTAMP: parse_timestamp, DATE: parse_date}


def write_comparison(w: Writer, node: b.Comparison, write: Write) -> str:
    """A comparison. The right side is not looked at where the left one is null."""
    left = w.named(write(w, node.left))
    is_lazy = node.operator != "IS DISTINCT FROM" and can_be_null(node.left)
    with w.apart(deeper=int(is_lazy)) as lines:
        right = w.named(write(w, node.right))
    if lines and is_lazy:
        return _unless_null(w, node, left, right, lines)
    w.add(lines)
    test = _test(w, node, left, right)
    nulls = [name for name, side in ((left, node.left), (right, node.right)) if can_be_null(side)]
    if node.operator == "IS DISTINCT FROM":
        return _distinct(left, right, nulls, test) if nulls else test
    if node.operator == "=" and len(nulls) < 2 and is_plain(node.left.type) and node.left.type == node.right.type:
        return test
    return f"({' and '.join([f'{name} is not None' for name in nulls] + [test])})"


def _unless_null(w: Writer, node: b.Comparison, left: str, right: str, lines: list[str]) -> str:
    found = w.new()
    w.line(f"{found} = False")
    with w.block(f"if {left} is not None:"):
        w.add(lines)
        guard = f"{right} is not None and " if can_be_null(node.right) else ""
        w.line(f"{found} = {guard}{_test(w, node, left, right)}")
    return found


def _distinct(left: str, right: str, nulls: list[str], test: str) -> str:
    """Two nulls are the same, one is different from everything else."""
    if len(nulls) == 1:
        return f"({nulls[0]} is None or {test})"
    return f"(({left} is None) != ({right} is None) if {left} is None or {right} is None else {test})"


def _test(w: Writer, node: b.Comparison, left: str, right: str) -> str:
    """The comparison of two values that are not null."""
    types = (node.left.type, node.right.type)
    operator = _PYTHON.get(node.operator, node.operator)
    if any(isinstance(type_, Decimal) for type_ in types):
        return f"({_exact(w, left, types[0])} {operator} {_exact(w, right, types[1])})"
    if any(map(is_time, types)):
        return f"({_moment(w, left, node.left, types)} {operator} {_moment(w, right, node.right, types)})"
    if isinstance(types[0], Array | Map | Struct):
        assert types[1] is not None
        equal = w.module.name_of(EqualityTest(types[0], types[1]))
        return f"{'' if operator == '==' else 'not '}{equal}({left}, {right})"
    if types[0] in (STRING, BYTES) and operator not in ("==", "!="):
        key = w.module.function(units if types[0] == STRING else runtime.signed)
        return f"({key}({left}) {operator} {key}({right}))"
    if DOUBLE in types:
        left, right = _double(left, types[0]), _double(right, types[1])
        if node.operator in _UNEQUAL:
            # NaN is neither equal nor unequal to anything.
            return f"({left} < {right} or {left} > {right})"
    return f"({left} {operator} {right})"


def _exact(w: Writer, value: str, type_: SqlType | None) -> str:
    return f"{w.module.function(runtime.exact)}({value})" if type_ == DOUBLE else value


def _double(value: str, type_: SqlType | None) -> str:
    """Python compares whole numbers with doubles exactly, Java makes them doubles first."""
    return f"float({value})" if type_ == BIGINT else value


def _moment(w: Writer, value: str, node: b.Bound, types: tuple[SqlType | None, ...]) -> str:
    """A time as the number that both sides are compared by."""
    wanted = TIME if TIME in types else TIMESTAMP if TIMESTAMP in types else DATE
    if node.type == STRING:
        if isinstance(node, b.Constant) and (known := _known_moment(node.value, wanted)) is not None:
            return str(known)
        return f"{w.module.function(_PARSERS[wanted])}({value})"
    return f"{value} * {MILLIS_OF_DAY}" if node.type == DATE and wanted == TIMESTAMP else value


def _known_moment(text: str, type_: SqlType) -> int | None:
    """What a literal stands for; one that stands for nothing fails when it is looked at."""
    try:
        return _PARSERS[type_](text)  # type: ignore[index]
    except ValueError:
        return None


def write_membership(w: Writer, node: b.Membership, values: list[str]) -> str:
    """IN: whether the first of the values is among the others."""
    (value, *items), type_ = values, node.value.type
    constants = [item.value for item in node.items if isinstance(item, b.Constant)]
    if is_plain(type_) and len(constants) == len(node.items):
        # Null is not in there, and nothing else is equal to it.
        return f"({value} in {w.module.name_of(Value(frozenset(constants)))})"
    if type_ is None:
        return "False"
    equal = w.module.name_of(EqualityTest(type_, type_))
    return f"{w.module.function(is_among)}({equal}, {value}, ({''.join(f'{item}, ' for item in items)}))"
