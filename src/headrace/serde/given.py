"""Serdes as users give them: an object, its class or function without the call, or a name as in the configuration."""

from __future__ import annotations

from typing import Any, get_args

from headrace import serde
from headrace.errors import ConfigError, OperatorTypeError, user_line
from headrace.near_names import did_you_mean
from headrace.serde.contract import Serde, SerdeName

SERDE_NAMES = get_args(SerdeName)

_HINT = f"Give an object, such as serdes.string(), or one of the names {', '.join(SERDE_NAMES)}."
_ELSEWHERE = {
    "str": "string",
    "text": "string",
    "utf8": "string",
    "int": "long",
    "int64": "long",
    "bigint": "long",
    "int32": "integer",
    "bool": "boolean",
    "dict": "json",
    "bytearray": "bytes",
    "none": "void",
}
"""Names and types that people try, and the serde for them."""


def configured_serde(setting: str, value: Any) -> Serde[Any]:
    """The serde that a setting says."""
    found = _serde(value)
    if found is None:
        message = f"{setting} must be a serde, found {value!r}"
        raise ConfigError(message, hint=_hint(value))
    return found


def given_serde(argument: str, value: Any) -> Serde[Any] | None:
    """The serde that an argument of a public method stands for; None stays None."""
    found = None if value is None else _serde(value)
    if found is None and value is not None:
        message = f"{argument} must be a serde, found {value!r}"
        raise OperatorTypeError(message, hint=_hint(value), at=user_line())
    return found


def is_serde(value: Any) -> bool:
    """Whether somebody who gives ``value`` means a serde: an object, or a class or function that makes one."""
    return isinstance(value, Serde) or getattr(value, "__module__", None) == serde.__name__


def _hint(value: Any) -> str:
    name = value.__name__ if isinstance(value, type) else value
    if not isinstance(name, str):
        return _HINT
    meant = _ELSEWHERE.get(name.lower(), name)
    near = did_you_mean(meant, SERDE_NAMES)
    return _HINT if near is None else f"{near} {_HINT}"


def _serde(value: Any) -> Serde[Any] | None:
    if isinstance(value, str) and value in SERDE_NAMES:
        return getattr(serde, value)()  # type: ignore[no-any-return]
    if isinstance(value, type) or (callable(value) and not isinstance(value, Serde)):
        try:
            value = value()
        except TypeError:  # It needs arguments that only the user knows.
            return None
    return value if isinstance(value, Serde) else None
