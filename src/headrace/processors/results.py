"""What functions of ``map``, ``flat_map``, ``flat_map_values`` and ``group_by`` may return; the rest is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.errors import OperatorTypeError

_PAIR_HINT = "Return both in a tuple: return key, value."
_MANY_HINT = "Return a list, [] where nothing is to follow."


def as_pair(result: Any, operator: str, function: Callable[..., Any]) -> tuple[Any, Any]:
    """``result`` where it is key and value; text of two letters, a set or a dict is no pair."""
    if isinstance(result, tuple | list) and len(result) == 2:
        return result[0], result[1]
    raise _refused(operator, "(key, value)", result, _PAIR_HINT, function)


def as_many(result: Any, operator: str, what: str, function: Callable[..., Any]) -> Iterable[Any]:
    """``result`` where it is a list or another iterable of ``what``; text is one value, not a list of letters."""
    if isinstance(result, Iterable) and not isinstance(result, str | bytes | bytearray):
        return result
    raise _refused(operator, what, result, _MANY_HINT, function)


def _refused(operator: str, expected: str, result: Any, hint: str, function: Callable[..., Any]) -> OperatorTypeError:
    message = f"{operator}(): the function must return {expected}, not {result!r}"
    return OperatorTypeError(message, hint=hint, at=_line_of(function))


def _line_of(function: Callable[..., Any]) -> str | None:
    """``file:line`` of a function that was written in Python."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"
