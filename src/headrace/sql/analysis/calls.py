"""Calls to bound expressions: the overload, the types of lambdas' parameters, implicit casts of arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.sql.analysis import bound as b
from headrace.sql.analysis.lists import LITERALS
from headrace.sql.errors import SqlError
from headrace.sql.functions.declare import Kind
from headrace.sql.functions.patterns import (
    ANY,
    ANY_DECIMAL,
    ANY_STRUCT,
    Argument,
    LambdaPattern,
    LambdaShape,
    LambdaType,
    Pattern,
    UnitArgument,
    Unresolved,
    fits,
    has_generics,
    resolved,
)
from headrace.sql.functions.registry import Choice
from headrace.sql.text.format import shown
from headrace.sql.tree import expressions as e
from headrace.sql.tree.types import BIGINT, Decimal, SqlType
from headrace.sql.types.casts import CastError, cast_of
from headrace.sql.types.decimals import as_decimal

if TYPE_CHECKING:
    from headrace.sql.analysis.binding import Scope


def bind_call(scope: Scope, tree: e.Call) -> b.Bound:
    """A call of a function of any kind. Of an aggregate only the type is of use: it is not evaluated row by row."""
    kind = scope.functions.kind(tree.name, tree.at)
    values = [None if isinstance(argument, e.Lambda) else _value(scope, argument) for argument in tree.arguments]
    arguments = [_argument(value, argument) for value, argument in zip(values, tree.arguments, strict=True)]
    if not arguments and kind is not Kind.SCALAR:
        # COUNT(*) and COUNT() count what is there in every row.
        arguments = [BIGINT]
    choice = scope.functions.choose(tree.name, arguments, tree.at)
    if kind is Kind.AGGREGATE:
        _check_init_arguments(tree, choice)
    bound: list[b.Bound] = []
    for value, argument, pattern in zip(values, tree.arguments, choice.patterns, strict=False):
        if isinstance(argument, e.Lambda):
            found, lambda_type = _lambda(scope, tree, argument, pattern, choice)
            bound.append(found)
            choice = _with_lambda(choice, len(bound) - 1, lambda_type)
        else:
            assert value is not None
            bound.append(_fitting(value, argument, pattern))
    return b.CallOf(choice, tuple(bound), _result(tree, choice))


def _value(scope: Scope, tree: e.Expression) -> b.Bound:
    if isinstance(tree, e.TimeUnit):
        return b.Constant(tree.name.removesuffix("S") + "S", None)
    return scope.bind(tree)


def _argument(value: b.Bound | None, tree: e.Expression) -> Argument:
    match tree:
        case e.Lambda(parameters):
            return LambdaShape(len(parameters))
        case e.TimeUnit():
            return UnitArgument()
    assert value is not None
    return value.type


def _check_init_arguments(tree: e.Call, choice: Choice) -> None:
    last = tree.arguments[len(tree.arguments) - choice.init_count :] if choice.init_count else ()
    for argument in last:
        if not isinstance(argument, LITERALS):
            message = f"`{tree.name}` takes a literal there, and not {shown(argument)}"
            raise SqlError("call.literal", message, offset=argument.at)


def _lambda(
    scope: Scope, call: e.Call, tree: e.Lambda, pattern: Pattern, choice: Choice
) -> tuple[b.LambdaOf, LambdaType]:
    """The lambda with types for its parameters, which follow from the arguments before it."""
    assert isinstance(pattern, LambdaPattern)
    if len(set(tree.parameters)) < len(tree.parameters):
        raise SqlError("name.duplicate", f"two parameters have one name: {shown(tree)}", offset=tree.at)
    if taken := next((name for name in tree.parameters if name in scope.variables), None):
        message = f"`{taken}` is a parameter of a lambda around this one already"
        raise SqlError("name.lambda", message, hint="Give it another name.", offset=tree.at)
    try:
        types = tuple(resolved(parameter, choice.generics) for parameter in pattern.parameters)
    except Unresolved as error:
        raise _undecided(call, error) from error
    body = scope.with_variables(dict(zip(tree.parameters, types, strict=True))).bind(tree.body)
    lambda_type = LambdaType(types, body.type)
    if not fits(pattern, lambda_type, choice.generics, with_casts=False):
        message = f"{shown(tree)} gives {body.type or 'NULL'}, which `{call.name}` does not take there"
        raise SqlError("call.no-overload", message, offset=tree.at)
    return b.LambdaOf(tree.parameters, body), lambda_type


def _with_lambda(choice: Choice, at: int, lambda_type: LambdaType) -> Choice:
    arguments: Sequence[Argument] = choice.arguments
    return replace(choice, arguments=(*arguments[:at], lambda_type, *arguments[at + 1 :]))


def _fitting(value: b.Bound, tree: e.Expression, pattern: Pattern) -> b.Bound:
    """The argument as the type that the parameter has. One that is a call or a field fails by itself."""
    found = value
    target = None if value.type is None else _target(value.type, pattern)
    if target is not None and target != value.type:
        found = b.Guarded(_cast(value, target, tree), f"CAST AS {target}", target)
    if isinstance(tree, e.Call | e.Dereference) and not isinstance(found, b.Guarded):
        return b.Guarded(found, f"the argument {shown(tree)}", found.type)
    return found


def _cast(value: b.Bound, target: SqlType, tree: e.Expression) -> b.Bound:
    assert value.type is not None
    try:
        cast_of(value.type, target)
    except CastError as error:
        raise SqlError("type.cast", str(error), offset=tree.at) from error
    return b.CastTo(value, target)


def _target(type_: SqlType, pattern: Pattern) -> SqlType | None:
    if has_generics(pattern) or pattern in (ANY, ANY_STRUCT) or isinstance(pattern, LambdaPattern):
        return None
    if pattern == ANY_DECIMAL:
        return type_ if isinstance(type_, Decimal) else as_decimal(type_)
    try:
        return resolved(pattern, {})
    except Unresolved:
        return None


def _result(tree: e.Call, choice: Choice) -> SqlType:
    try:
        return choice.result
    except Unresolved as error:
        raise _undecided(tree, error) from error


def _undecided(tree: e.Call, error: Unresolved) -> SqlError:
    message = f"nothing says what {error} is in {shown(tree)}"
    return SqlError("call.no-overload", message, hint="CAST a NULL to the type that is meant.", offset=tree.at)
