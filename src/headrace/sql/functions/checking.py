"""What can be wrong with a function of a user, found before any row calls it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headrace.sql.errors import SqlError
from headrace.sql.functions.declare import Kind, Overload

_METHODS = {"initial": 0, "add": 2}
_OPTIONAL_METHODS = {"merge": 2, "undo": 2, "result": 1}


def check_callable(overload: Overload) -> None:
    """An SqlError for a function that takes another number of arguments than its signature says.

    Of an aggregate these are its methods, which must be there.
    """
    if overload.kind is Kind.AGGREGATE:
        if isinstance(overload.body, type):
            _check_methods(overload.name, overload.body)
    elif not overload.is_typed:
        parameters = overload.signature.parameters
        counts = [len(parameters)]
        if any(parameter.is_variadic for parameter in parameters):
            counts.append(len(parameters) + 1)
        for count in counts:
            _check_count(overload.name, _name_of(overload.body), overload.body, count)


def _check_methods(name: str, body: type) -> None:
    for method, count in (_METHODS | _OPTIONAL_METHODS).items():
        found = getattr(body, method, None)
        if found is None and method in _METHODS:
            message = f"the aggregate {name} has no method {method}"
            hint = f"{_name_of(body)} needs initial(self) and add(self, value, state)."
            raise SqlError("function.signature", message, hint=hint)
        if found is not None:
            of_class = isinstance(inspect.getattr_static(body, method), staticmethod | classmethod)
            _check_count(name, f"{_name_of(body)}.{method}", found, count if of_class else count + 1, not of_class)


def _check_count(name: str, shown: str, body: Callable[..., Any], count: int, has_self: bool = False) -> None:
    try:
        taken = inspect.signature(body)
    except ValueError:
        return  # Some functions of C do not say what they take.
    try:
        taken.bind(*[None] * count)
    except TypeError:
        called_with = count - has_self
        given = f"{called_with} argument{'' if called_with == 1 else 's'}"
        message = f"the function {name} is called with {given}, and {shown}{taken} does not take as many"
        raise SqlError("function.signature", message) from None


def _name_of(body: Callable[..., Any]) -> str:
    return getattr(body, "__qualname__", repr(body))
