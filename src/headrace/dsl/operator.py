"""What all operators share: arguments are checked where they are given, at the user's line."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from headrace.errors import OperatorTypeError, user_line
from headrace.functions import refuse_async, signature_of, takes, where
from headrace.near_names import did_you_mean
from headrace.serde.given import given_serde

Method = TypeVar("Method", bound=Callable[..., Any])
R = TypeVar("R")


def operator(method: Method) -> Method:
    """Give a public method of the DSL an error that helps when it is called with the wrong arguments."""
    signature = inspect.signature(method)
    names = [name for name in signature.parameters if name != "self"]

    @functools.wraps(method)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            # The class that the user has in hand, not one that it inherits the method from.
            name = f"{type(args[0]).__name__}.{method.__name__}" if args else method.__qualname__
            raise _argument_error(name, names, kwargs, error) from None
        _take_serdes(bound.arguments)
        return method(*bound.args, **bound.kwargs)

    return cast(Method, checked)


def _take_serdes(arguments: dict[str, Any]) -> None:
    """Put the serdes that names and classes stand for in their place."""
    for name in [name for name in arguments if name.endswith("serde")]:
        arguments[name] = given_serde(name, arguments[name])


def call_as(name: str, function: Callable[..., R], fixed: tuple[Any, ...], /, *args: Any, **kwargs: Any) -> R:
    """Call a function that stands behind the method ``name``; ``fixed`` are arguments the user did not give."""
    signature = inspect.signature(function)
    try:
        signature.bind(*fixed, *args, **kwargs)
    except TypeError as error:
        raise _argument_error(name, list(signature.parameters)[len(fixed) :], kwargs, error) from None
    _take_serdes(kwargs)
    return function(*fixed, *args, **kwargs)


def _argument_error(name: str, names: list[str], kwargs: dict[str, Any], error: TypeError) -> OperatorTypeError:
    unknown = next((given for given in kwargs if given not in names), None)
    if unknown is None:
        return OperatorTypeError(f"{name}(): {error}", hint=f"It takes {', '.join(names)}.", at=user_line())
    hint = did_you_mean(unknown, names, shown="{}=".format) or f"It takes {', '.join(names)}."
    return OperatorTypeError(f"{name}() has no argument {unknown!r}", hint=hint, at=user_line())


def check_function(function: Any, arity: int, *, operator: str, argument: str, with_key: bool = True) -> None:
    """Refuse async functions and what cannot take ``arity`` positional arguments; builtins without a signature pass.

    ``with_key`` says whether an operator of that name has this switch here.
    """
    if not callable(function):
        message = f"{operator}(): {argument} must be a function of {arity} argument(s), not {function!r}"
        raise OperatorTypeError(message, hint="Give a function, a lambda or another callable.", at=user_line())
    refuse_async(f"{operator}(): {argument}", function, user_line())
    signature = signature_of(function)
    if signature is not None and not takes(signature, arity):
        message = f"{operator}(): {argument} is called with {arity} argument(s), but takes {signature}"
        raise OperatorTypeError(
            message,
            detail=f"function {where(function)}",
            hint=_KEY_TOO
            if with_key and operator in _WITH_KEY and takes(signature, arity + 1)
            else "Let the function take just these arguments.",
            at=user_line(),
        )


_WITH_KEY = frozenset({"map_values", "flat_map_values", "join", "left_join", "outer_join"})
_KEY_TOO = "with_key=True gives the function the key as well."
