"""Bound expressions to Python: statements that come first, and an expression for the value.

Laziness is Java's: what AND, OR, CASE and a comparison with null do not look at is not evaluated. A value that fails
raises; guards are ``try`` blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal as Number
from typing import Any

from headrace.sql.analysis import bound as b
from headrace.sql.compile import runtime
from headrace.sql.compile.comparisons import write_comparison, write_membership
from headrace.sql.compile.knowing import can_be_null, can_fail
from headrace.sql.compile.recipes import (
    CastRecipe,
    DecimalOperation,
    LikePattern,
    PlainFunction,
    Recipe,
    TypedFunction,
    Value,
)
from headrace.sql.compile.writer import Writer
from headrace.sql.functions.declare import Kind
from headrace.sql.functions.patterns import LambdaType
from headrace.sql.tree.types import BIGINT, DOUBLE, INTEGER, STRING, Array, Decimal, SqlType
from headrace.sql.types import arithmetic
from headrace.sql.types.casts import cast_of, same
from headrace.sql.types.numbers import wrap32, wrap64

_DEEPEST = 15
"""Python takes no more than 20 blocks in each other; what is deeper becomes a function of its own."""
_WRAPS: dict[SqlType, tuple[int, Callable[[int], int]]] = {INTEGER: (31, wrap32), BIGINT: (63, wrap64)}


def write(w: Writer, node: b.Bound) -> str:
    """Add the statements that the value needs, and return an expression for it."""
    if w.depth > _DEEPEST and not isinstance(node, b.Constant | b.ColumnAt | b.Variable):
        return _outlined(w, node)
    return w.short(_WRITERS[type(node)](w, node))


def _outlined(w: Writer, node: b.Bound) -> str:
    variables = {name: f"x{at}" for at, name in enumerate(w.variables)}
    inner = Writer(w.module, variables)
    inner.line(f"return {write(inner, node)}")
    name = f"part{len(w.module.functions)}"
    w.module.functions.append(inner.text(name, ", ".join(["row", "log", *variables.values()])))
    return f"{name}({', '.join(['row', 'log', *w.variables.values()])})"


def write_all(w: Writer, nodes: Sequence[b.Bound]) -> list[str]:
    """Values that are evaluated one after the other: what fails keeps those behind it from being looked at."""
    values: list[str] = []
    for node in nodes:
        with w.apart(deeper=0) as lines:
            value = write(w, node)
        if lines:
            values = [
                w.named(earlier) if can_fail(before) else earlier
                for earlier, before in zip(values, nodes, strict=False)
            ]
            w.add(lines)
        values.append(value)
    return values


def write_condition(w: Writer, node: b.Bound) -> str:
    """A condition: null is a failure."""
    value = write(w, node)
    return f"{w.module.function(runtime.truth)}({value})" if can_be_null(node) else value


def _constant(w: Writer, node: b.Constant) -> str:
    value = node.value
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    # Texts have names: pull queries differ by the key that they ask for, and one code serves them all.
    return w.module.name_of(Value(value))


def _lambda(w: Writer, node: b.LambdaOf) -> str:
    name = w.new("f")
    outer = w.variables
    w.variables = outer | {parameter: w.new("v") for parameter in node.parameters}
    with w.block(f"def {name}({', '.join(w.variables[parameter] for parameter in node.parameters)}):"):
        w.line(f"return {write(w, node.body)}")
    w.variables = outer
    return name


def _arithmetic(w: Writer, node: b.Arithmetic) -> str:
    left, right = write_all(w, (node.left, node.right))
    if node.type == STRING:
        return f"{w.module.function(runtime.joined)}({left}, {right})"
    if isinstance(node.type, Decimal):
        operation = w.module.name_of(DecimalOperation(node.operator, node.type))
        return f"{operation}({_as_decimal(w, left, node.left)}, {_as_decimal(w, right, node.right)})"
    if node.type == DOUBLE:
        return _double_arithmetic(w, node, _as_double(left, node.left), _as_double(right, node.right))
    return _wrapped(w, _whole(w, node.operator, left, right), node.type, node.operator != "%")


def _as_decimal(w: Writer, value: str, node: b.Bound) -> str:
    return value if isinstance(node.type, Decimal) else f"{w.module.function(Number)}({value})"


def _as_double(value: str, node: b.Bound) -> str:
    return f"float({value})" if isinstance(node.type, Decimal) else value


def _double_arithmetic(w: Writer, node: b.Arithmetic, left: str, right: str) -> str:
    if node.operator in _DOUBLE_FUNCTIONS:
        return f"{w.module.function(_DOUBLE_FUNCTIONS[node.operator])}({left}, {right})"
    return f"({left} {node.operator} {right})"


def _whole(w: Writer, operator: str, left: str, right: str) -> str:
    if operator in _WHOLE_FUNCTIONS:
        return f"{w.module.function(_WHOLE_FUNCTIONS[operator])}({left}, {right})"
    return f"{left} {operator} {right}"


def _wrapped(w: Writer, value: str, type_: SqlType, can_overflow: bool = True) -> str:
    if not can_overflow:
        return value
    bits, wrap = _WRAPS[type_]
    name = w.new()
    w.line(f"{name} = {value}")
    w.line(f"if not {-(1 << bits)} <= {name} <= {(1 << bits) - 1}: {name} = {w.module.function(wrap)}({name})")
    return name


def _sign(w: Writer, node: b.SignOf) -> str:
    value = write(w, node.value)
    if node.sign == "+":
        # Nothing changes, but a null fails as it does behind any sign.
        return f"{w.module.function(runtime.present)}({value})"
    if isinstance(node.type, Decimal):
        return f"{w.module.function(runtime.negative)}({value})"
    return f"(-{value})" if node.type == DOUBLE else _wrapped(w, f"-{value}", node.type)


def _logic(w: Writer, node: b.Logic) -> str:
    left = write_condition(w, node.left)
    with w.apart() as lines:
        right = write_condition(w, node.right)
    if not lines:
        return f"({left} {node.operator.lower()} {right})"
    name = w.new()
    w.line(f"{name} = {left}")
    with w.block(f"if {name}:" if node.operator == "AND" else f"if not {name}:"):
        w.add(lines)
        w.line(f"{name} = {right}")
    return name


def _null_test(w: Writer, node: b.NullTest) -> str:
    value = write(w, node.value)
    if not can_be_null(node.value) and not can_fail(node.value):
        return str(node.negated)
    return f"({value} is {'not ' if node.negated else ''}None)"


def _matching(w: Writer, node: b.Matching) -> str:
    value, pattern = write_all(w, (node.value, node.pattern))
    if isinstance(node.pattern, b.Constant) and not _ends_with_escape(node.pattern.value, node.escape):
        return f"({w.module.name_of(LikePattern(node.pattern.value, node.escape))}({value}) is not None)"
    return f"({w.module.function(runtime.like)}({pattern}, {node.escape!r})({value}) is not None)"


def _ends_with_escape(pattern: str, escape: str | None) -> bool:
    """Such a pattern fails with every row, and not before."""
    try:
        runtime.like(pattern, escape)
    except ValueError:
        return True
    return False


def _choosing(w: Writer, node: b.Choosing) -> str:
    (condition, result), *others = node.branches
    test, name = write_condition(w, condition), w.new()
    with w.block(f"if {test}:"):
        w.line(f"{name} = {write(w, result)}")
    with w.block("else:"):
        rest = b.Choosing(tuple(others), node.default, node.type) if others else node.default
        w.line(f"{name} = {write(w, rest)}")
    return name


def _cast(w: Writer, node: b.CastTo) -> str:
    value, from_ = write(w, node.value), node.value.type
    if from_ is None or cast_of(from_, node.type) is same:
        return value
    cast = "float" if cast_of(from_, node.type) is float else w.module.name_of(CastRecipe(from_, node.type))
    if not can_be_null(node.value):
        return f"{cast}({value})"
    name = w.named(value)
    return f"(None if {name} is None else {cast}({name}))"


def _array(w: Writer, node: b.MakeArray) -> str:
    return f"[{', '.join(write_all(w, node.items))}]"


def _map(w: Writer, node: b.MakeMap) -> str:
    parts = iter(write_all(w, [part for entry in node.entries for part in entry]))
    return f"{{{', '.join(f'{key}: {value}' for key, value in zip(parts, parts, strict=True))}}}"


def _struct(w: Writer, node: b.MakeStruct) -> str:
    return f"({''.join(f'{value}, ' for value in write_all(w, node.fields))})"


def _call(w: Writer, node: b.CallOf) -> str:
    overload = node.choice.overload
    assert overload.kind is not Kind.AGGREGATE, f"{overload.name} is not evaluated row by row"
    arguments = ", ".join(write_all(w, node.arguments))
    return f"{w.module.name_of(_function(node))}({arguments})"


def _function(node: b.CallOf) -> Recipe:
    overload, types = node.choice.overload, tuple(argument.type for argument in node.arguments)
    if overload.is_typed:
        return TypedFunction(overload.body, types)
    # The type of a lambda is known to the call alone.
    arguments = tuple(
        found if isinstance(found, LambdaType) else type_
        for found, type_ in zip(node.choice.arguments, types, strict=False)
    )
    if not overload.is_plain:
        return Value(overload.body)
    result = Array(node.type) if overload.kind is Kind.TABLE else node.type
    return PlainFunction(overload.body, arguments, result)


def _item(w: Writer, node: b.ItemAt) -> str:
    item_at = w.module.function(runtime.item_at)
    return _looked_up(w, node.base, node.index, lambda base, index: f"{item_at}({base}, {index})")


def _value_at(w: Writer, node: b.ValueAt) -> str:
    return _looked_up(w, node.base, node.key, lambda base, key: f"{base}.get({key})")


def _looked_up(w: Writer, base_node: b.Bound, at_node: b.Bound, look: Callable[[str, str], str]) -> str:
    """Null where the base is: then nobody asks where to look."""
    base = w.named(write(w, base_node))
    if base == "None":
        return base
    with w.apart() as lines:
        at = write(w, at_node)
    if not lines:
        return f"(None if {base} is None else {look(base, at)})"
    name = w.new()
    w.line(f"{name} = None")
    with w.block(f"if {base} is not None:"):
        w.add(lines)
        w.line(f"{name} = {look(base, at)}")
    return name


def _field(w: Writer, node: b.FieldOf) -> str:
    base = w.named(write(w, node.base))
    return base if base == "None" else f"(None if {base} is None else {base}[{node.index}])"


def _guarded(w: Writer, node: b.Guarded) -> str:
    if not can_fail(node.value):
        return write(w, node.value)
    name = w.new()
    with w.block("try:"):
        w.line(f"{name} = {write(w, node.value)}")
    with w.block("except Exception as error:"):
        w.line(f"{name} = log.failed({node.what!r}, error, row)")
    return name


_DOUBLE_FUNCTIONS = {"/": arithmetic.double_quotient, "%": arithmetic.double_remainder}
_WHOLE_FUNCTIONS = {"/": arithmetic.quotient, "%": arithmetic.remainder}
_WRITERS: dict[type, Callable[[Writer, Any], str]] = {
    b.Constant: _constant,
    b.ColumnAt: lambda w, node: w.column(node.index),
    b.Variable: lambda w, node: w.variables[node.name],
    b.LambdaOf: _lambda,
    b.Arithmetic: _arithmetic,
    b.SignOf: _sign,
    b.Comparison: lambda w, node: write_comparison(w, node, write),
    b.Logic: _logic,
    b.Negation: lambda w, node: f"(not {write_condition(w, node.value)})",
    b.NullTest: _null_test,
    b.Membership: lambda w, node: write_membership(w, node, write_all(w, (node.value, *node.items))),
    b.Matching: _matching,
    b.Choosing: _choosing,
    b.CastTo: _cast,
    b.MakeArray: _array,
    b.MakeMap: _map,
    b.MakeStruct: _struct,
    b.CallOf: _call,
    b.ItemAt: _item,
    b.ValueAt: _value_at,
    b.FieldOf: _field,
    b.Guarded: _guarded,
}
