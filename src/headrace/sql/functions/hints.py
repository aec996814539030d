"""Signatures from the type hints of a function, or of the methods of an aggregate."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from headrace.sql.errors import SqlError
from headrace.sql.functions.patterns import ANY, ArrayPattern, Generic, LambdaPattern, MapPattern, Pattern
from headrace.sql.functions.signatures import Parameter, Signature
from headrace.sql.tree.types import BIGINT, BOOLEAN, BYTES, DOUBLE, STRING

_SIMPLE: dict[Any, Pattern] = {int: BIGINT, float: DOUBLE, str: STRING, bool: BOOLEAN, bytes: BYTES}
_LISTS = (list, tuple, Sequence)
_MAPS = (dict, Mapping)


def signature_of(body: Callable[..., Any]) -> Signature:
    """The signature that type hints say: int is BIGINT, float DOUBLE, ``list[str]`` ARRAY<STRING>, and so on.

    >>> def cut(text: str, *lengths: int) -> list[str] | None: ...
    >>> str(signature_of(cut))
    '(STRING text, BIGINT... lengths) -> ARRAY<STRING>'
    """
    return Signature(_parameters(body), _result(body))


def table_signature_of(body: Callable[..., Any]) -> Signature:
    """The signature of a function that returns a list of rows."""
    found = signature_of(body)
    if not isinstance(found.result, ArrayPattern):
        raise _unclear(body, "a table function returns a list")
    return Signature(found.parameters, found.result.item)


def aggregate_signature_of(body: Callable[..., Any]) -> tuple[Signature, Pattern]:
    """The signature of an aggregate and the type of its state.

    ``add`` says what it takes, ``initial`` what is stored, ``result`` what comes out. What the class is made with are
    literals at the end of a call.
    """
    add, initial = _method(body, "add"), _method(body, "initial")
    value = next((hint for name, hint in get_type_hints(add).items() if name != "return"), None)
    columns = get_args(value) if get_origin(value) is tuple else (value,)
    parameters = [Parameter(_pattern(add, "the value", column)) for column in columns]
    made_with = _parameters(vars(body)["__init__"]) if "__init__" in vars(body) else ()
    state = _result(initial)
    result = _result(_method(body, "result")) if hasattr(body, "result") else state
    return Signature((*parameters, *(replace(each, is_const=True) for each in made_with)), result), state


def _method(body: Callable[..., Any], name: str) -> Callable[..., Any]:
    method = getattr(body, name, None)
    if not callable(method):
        raise _unclear(body, f"it has no method {name}")
    return method  # type: ignore[no-any-return]


def _parameters(body: Callable[..., Any]) -> tuple[Parameter, ...]:
    hints = get_type_hints(body)
    found = []
    for name, parameter in inspect.signature(body).parameters.items():
        if name == "self":
            continue
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            raise _unclear(body, f"{name} can only be given by its name, which SQL cannot")
        is_variadic = parameter.kind is parameter.VAR_POSITIONAL
        found.append(Parameter(_pattern(body, name, hints.get(name)), name, is_variadic))
    return tuple(found)


def _result(body: Callable[..., Any]) -> Pattern:
    result = _pattern(body, "the result", get_type_hints(body).get("return"))
    if result == ANY:
        raise _unclear(body, "the result has no type that SQL knows")
    return result


def _pattern(body: Callable[..., Any], name: str, hint: Any) -> Pattern:
    if hint is Any:
        return ANY
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(hint, TypeVar):
        return Generic(hint.__name__)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Callable and isinstance(inner[0], list):
        parameters = tuple(_pattern(body, name, parameter) for parameter in inner[0])
        return LambdaPattern(parameters, _pattern(body, name, inner[1]))
    if origin in (Union, types.UnionType):
        some = [each for each in inner if each is not type(None)]
        if len(some) == 1:
            return _pattern(body, name, some[0])
    if origin in _LISTS and inner[1:] in ((), (...,)):
        return ArrayPattern(_pattern(body, name, inner[0]))
    if origin in _MAPS:
        return MapPattern(_pattern(body, name, inner[0]), _pattern(body, name, inner[1]))
    shown = "no type hint" if hint is None else f"the type hint {hint}"
    raise _unclear(body, f"{name} has {shown}, which says no SQL type")


def _unclear(body: Callable[..., Any], reason: str) -> SqlError:
    name = getattr(body, "__qualname__", repr(body))
    return SqlError("function.signature", f"the signature of {name} is not clear: {reason}")
