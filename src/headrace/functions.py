"""What can be said about a function of the user before it is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from headrace.errors import OperatorTypeError, user_line

Method = TypeVar("Method", bound=Callable[..., Any])


def check_function(what: str, function: Any, arity: int, at: str | None, hint: str | None = None) -> None:
    """Refuse async functions and what cannot take ``arity`` positional arguments; builtins without a signature pass."""
    if not callable(function):
        message = f"{what} must be a function of {arity} argument(s), not {function!r}"
        raise OperatorTypeError(message, hint="Give a function, a lambda or another callable.", at=at)
    refuse_async(what, function, at)
    signature = signature_of(function)
    if signature is not None and not takes(signature, arity):
        message = f"{what} is called with {arity} argument(s), but takes {signature}"
        raise OperatorTypeError(
            message,
            detail=f"function {where(function)}",
            hint=hint or "Let the function take just these arguments.",
            at=at,
        )


def called_as(example: str) -> Callable[[Method], Method]:
    """Give a constructor an error that shows the right call where its arguments do not fit."""

    def decorated(init: Method) -> Method:
        signature = inspect.signature(init)

        @functools.wraps(init)
        def checked(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                signature.bind(self, *args, **kwargs)
            except TypeError as error:
                message = f"{type(self).__name__}(): {error}"
                raise OperatorTypeError(message, hint=f"Call it as {example}.", at=user_line()) from None
            init(self, *args, **kwargs)

        return cast(Method, checked)

    return decorated


def is_async(function: Any) -> bool:
    kinds = (function, getattr(function, "__call__", None))  # noqa: B004 - an object may have an async __call__
    return any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in kinds)


def refuse_async(what: str, function: Any, at: str | None) -> None:
    """Raise where calling ``function`` would only make a coroutine, which nobody awaits: nothing of it would run."""
    if is_async(function):
        message = f"{what} is an async function, which is not awaited here"
        raise OperatorTypeError(
            message,
            detail=f"function {where(function)}",
            hint="Give a plain function; asyncio.run(...) inside it runs what is async.",
            at=at,
        )


def signature_of(function: Any) -> inspect.Signature | None:
    """The parameters of ``function``; None for builtins that do not tell."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def takes(signature: inspect.Signature, arity: int) -> bool:
    """Whether a function can be called with that many positional arguments."""
    try:
        signature.bind(*(None,) * arity)
    except TypeError:
        return False
    return True


def where(function: Any) -> str:
    """The name of ``function`` and the line of its definition, where it has one."""
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", repr(function))
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code else name
