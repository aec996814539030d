"""Serdes as users give them: an object, its class or function without the call, or a name as in the configuration."""

from __future__ import annotations

from typing import Any, get_args

from headrace import serde
from headrace.errors import ConfigError, OperatorTypeError, user_line
from headrace.serde.contract import Serde, SerdeName

SERDE_NAMES = get_args(SerdeName)

_HINT = f"Give an object, such as serdes.string(), or one of the names {', '.join(SERDE_NAMES)}."


def configured_serde(setting: str, value: Any) -> Serde[Any]:
    """The serde that a setting says."""
    found = _serde(value)
    if found is None:
        message = f"{setting} must be a serde, found {value!r}"
        raise ConfigError(message, hint=_HINT)
    return found


def given_serde(argument: str, value: Any) -> Serde[Any] | None:
    """The serde that an argument of a public method stands for; None stays None."""
    found = None if value is None else _serde(value)
    if found is None and value is not None:
        message = f"{argument} must be a serde, found {value!r}"
        raise OperatorTypeError(message, hint=_HINT, at=user_line())
    return found


def _serde(value: Any) -> Serde[Any] | None:
    if isinstance(value, str) and value in SERDE_NAMES:
        return getattr(serde, value)()  # type: ignore[no-any-return]
    if isinstance(value, type) or (callable(value) and not isinstance(value, Serde)):
        try:
            value = value()
        except TypeError:  # It needs arguments that only the user knows.
            return None
    return value if isinstance(value, Serde) else None
