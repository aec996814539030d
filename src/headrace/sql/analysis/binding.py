"""Trees to bound expressions: names become positions, every node gets its type, casts and guards become visible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.near_names import did_you_mean
from headrace.sql.analysis import bound as b
from headrace.sql.analysis.calls import bind_call
from headrace.sql.analysis.constructors import bind_array, bind_in, bind_map, bind_struct
from headrace.sql.analysis.operators import bind_between, bind_binary, bind_like, bind_not, bind_null_test, bind_sign
from headrace.sql.errors import SqlError
from headrace.sql.functions.registry import Registry
from headrace.sql.text.format import shown
from headrace.sql.tree import expressions as e
from headrace.sql.tree.names import quoted
from headrace.sql.tree.types import (
    BIGINT,
    BOOLEAN,
    BY_NAME,
    DOUBLE,
    INTEGER,
    STRING,
    Array,
    Map,
    Registered,
    SqlType,
    Struct,
)
from headrace.sql.types.casts import CastError, cast_of
from headrace.sql.types.coercion import is_number
from headrace.sql.types.decimals import type_of_number
from headrace.sql.types.numbers import parse_decimal
from headrace.sql.types.trimming import trimmed
from headrace.sql.types.type_names import hint_for_type


@dataclass(frozen=True)
class Scope:
    """What names mean: columns of the row in order, parameters of lambdas, functions."""

    columns: Mapping[str, SqlType]
    functions: Registry
    positions: Mapping[str, int] = field(default_factory=dict)
    """Where in the row columns are; who only asks for types does without."""
    variables: Mapping[str, SqlType] = field(default_factory=dict)
    _known: dict[int, tuple[e.Expression, b.Bound]] = field(default_factory=dict, compare=False)
    """What was bound already: the items of lists are asked for their types again and again."""

    def with_variables(self, variables: Mapping[str, SqlType]) -> Scope:
        """Inside a lambda with these parameters."""
        return replace(self, variables={**self.variables, **variables}, _known={})

    def bind(self, tree: e.Expression) -> b.Bound:
        """The bound expression of a tree. What has no meaning or no type is an ``SqlError`` that says where."""
        if id(tree) not in self._known:
            self._known[id(tree)] = (tree, _BINDERS[type(tree)](self, tree))
        return self._known[id(tree)][1]

    def type_of(self, tree: e.Expression) -> SqlType | None:
        """The type of a tree; that of NULL is None."""
        return self.bind(tree).type


def scope_of_row(columns: Mapping[str, SqlType], functions: Registry) -> Scope:
    """The scope of expressions that are evaluated: it knows where in the row columns are."""
    return Scope(columns, functions, {name: index for index, name in enumerate(columns)})


def _column(scope: Scope, tree: e.Column) -> b.Bound:
    if tree.source is None and tree.name in scope.columns:
        return b.ColumnAt(scope.positions.get(tree.name, -1), tree.name, scope.columns[tree.name])
    hint = did_you_mean(tree.name, scope.columns, shown=quoted)
    raise SqlError("name.column", f"there is no column `{tree.name}`", hint=hint, offset=tree.at)


def _variable(scope: Scope, tree: e.LambdaVariable) -> b.Bound:
    type_ = scope.variables.get(tree.name)
    if type_ is None:
        raise SqlError("name.column", f"`{tree.name}` is no parameter of a lambda here", offset=tree.at)
    return b.Variable(tree.name, type_)


def _literal(type_: SqlType | None) -> Callable[[Scope, Any], b.Bound]:
    return lambda scope, tree: b.Constant(tree.value, type_)


def _typed(scope: Scope, tree: e.Typed) -> b.Bound:
    try:
        if tree.type == "DECIMAL":
            number = parse_decimal(trimmed(tree.text))
            return b.Constant(number, type_of_number(number))
        type_ = BY_NAME[tree.type]
        return b.Constant(cast_of(STRING, type_)(tree.text), type_)
    except (ValueError, ArithmeticError) as error:
        message = f"'{tree.text}' cannot be read as {tree.type}"
        raise SqlError("type.literal", message, detail=str(error), offset=tree.at) from error


def _case(scope: Scope, tree: e.Case) -> b.Bound:
    if tree.operand is not None:
        hint = f"Write CASE WHEN {shown(tree.operand)} = ... THEN ... END."
        raise SqlError("type.case", "CASE with a value behind it is not supported", hint=hint, offset=tree.at)
    branches = tuple((scope.bind(when.condition), scope.bind(when.result)) for when in tree.whens)
    for (condition, _), when in zip(branches, tree.whens, strict=True):
        if condition.type != BOOLEAN:
            message = f"WHEN takes a condition, and {shown(when.condition)} is {condition.type or 'NULL'}"
            raise SqlError("type.case", message, offset=when.condition.at)
    default = b.Constant(None, None) if tree.default is None else scope.bind(tree.default)
    types = [result.type for _, result in branches] + [default.type]
    return b.Choosing(branches, default, _one_type(tree, types))


def _one_type(tree: e.Case, types: list[SqlType | None]) -> SqlType:
    known = list(dict.fromkeys(type_ for type_ in types if type_ is not None))
    if not known:
        raise SqlError("type.case", "all results of this CASE are NULL", hint="CAST one of them.", offset=tree.at)
    if len(known) > 1:
        message = f"the results of a CASE have one type, and these have {' and '.join(map(str, known))}"
        raise SqlError("type.case", message, hint="CAST makes them the same.", offset=tree.at)
    return known[0]


def _cast(scope: Scope, tree: e.Cast) -> b.Bound:
    value = scope.bind(tree.value)
    if value.type is not None and value.type != tree.type:
        try:
            cast_of(value.type, tree.type)
        except CastError as error:
            named = tree.type if isinstance(tree.type, Registered) else None
            hint, at = (None, tree.at) if named is None else (hint_for_type(named.name), named.at)
            raise SqlError("type.cast", str(error), hint=hint, offset=at) from error
    return b.Guarded(b.CastTo(value, tree.type), f"CAST AS {tree.type}", tree.type)


def _subscript(scope: Scope, tree: e.Subscript) -> b.Bound:
    base, index = scope.bind(tree.base), scope.bind(tree.index)
    if isinstance(base.type, Array) and is_number(index.type):
        return b.ItemAt(base, index, base.type.item)
    if isinstance(base.type, Map):
        # A key of another type is never in the map.
        found = index.type == base.type.key
        return b.ValueAt(base, index, base.type.value) if found else b.Constant(None, base.type.value)
    hint = f"Fields of a struct are read with {shown(tree.base)}->NAME." if isinstance(base.type, Struct) else None
    message = f"{shown(tree.base)} is {base.type or 'NULL'}, which {index.type or 'NULL'} in [ ] does not select from"
    raise SqlError("type.subscript", message, hint=hint, offset=tree.at)


def _dereference(scope: Scope, tree: e.Dereference) -> b.Bound:
    base = scope.bind(tree.base)
    if not isinstance(base.type, Struct):
        message = f"-> reads a field of a STRUCT, and {shown(tree.base)} is {base.type or 'NULL'}"
        raise SqlError("type.struct", message, offset=tree.at)
    for index, struct_field in enumerate(base.type.fields):
        if struct_field.name == tree.name:
            return b.FieldOf(base, index, struct_field.type)
    hint = did_you_mean(tree.name, [known.name for known in base.type.fields], shown=quoted)
    message = f"there is no field `{tree.name}` in {shown(tree.base)}"
    raise SqlError("name.field", message, hint=hint, offset=tree.name_at)


def _only_in_calls(scope: Scope, tree: e.Lambda | e.TimeUnit) -> b.Bound:
    raise SqlError("type.argument", f"{shown(tree)} can only be an argument of a function", offset=tree.at)


_BINDERS: dict[type, Callable[[Scope, Any], b.Bound]] = {
    e.NullLiteral: lambda scope, tree: b.Constant(None, None),
    e.BooleanLiteral: _literal(BOOLEAN),
    e.IntegerLiteral: _literal(INTEGER),
    e.LongLiteral: _literal(BIGINT),
    e.DecimalLiteral: lambda scope, tree: b.Constant(tree.value, type_of_number(tree.value)),
    e.DoubleLiteral: _literal(DOUBLE),
    e.StringLiteral: _literal(STRING),
    e.Typed: _typed,
    e.TimeUnit: _only_in_calls,
    e.Column: _column,
    e.LambdaVariable: _variable,
    e.Lambda: _only_in_calls,
    e.Binary: bind_binary,
    e.Signed: bind_sign,
    e.Not: bind_not,
    e.IsNull: bind_null_test,
    e.Between: bind_between,
    e.In: bind_in,
    e.Like: bind_like,
    e.Case: _case,
    e.Cast: _cast,
    e.ArrayOf: bind_array,
    e.MapOf: bind_map,
    e.StructOf: bind_struct,
    e.Call: bind_call,
    e.Subscript: _subscript,
    e.Dereference: _dereference,
}
