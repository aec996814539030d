"""Serdes left open by the program, filled in from the configuration when a task starts."""

from __future__ import annotations

from typing import Any, Protocol

from headrace.errors import SerializationError
from headrace.serde.contract import Serde


class SerdeSettings(Protocol):
    """What serdes want to know of an application: ``headrace.config.StreamsConfig`` knows it."""

    @property
    def application_id(self) -> str: ...

    @property
    def default_key_serde(self) -> Serde[Any]: ...

    @property
    def default_value_serde(self) -> Serde[Any]: ...

    def default_list_inner_serde(self, *, is_key: bool) -> Serde[Any]: ...

    def __getitem__(self, name: str) -> Any: ...


def resolve_key_serde(serde: Serde[Any] | None, config: SerdeSettings) -> Serde[Any]:
    """``serde``, or the default key serde; wrapping serdes get their inner one filled in."""
    if serde is None:
        return config.default_key_serde
    return serde.with_defaults(config, is_key=True) if hasattr(serde, "with_defaults") else serde


def resolve_value_serde(serde: Serde[Any] | None, config: SerdeSettings) -> Serde[Any]:
    """``serde``, or the default value serde; wrapping serdes get their inner one filled in."""
    if serde is None:
        return config.default_value_serde
    return serde.with_defaults(config, is_key=False) if hasattr(serde, "with_defaults") else serde


def resolve_inner(inner: Serde[Any] | None, config: SerdeSettings, *, is_key: bool) -> Serde[Any]:
    """The serde inside another one, for a key or for a value."""
    return resolve_key_serde(inner, config) if is_key else resolve_value_serde(inner, config)


def known_inner(inner: Serde[Any] | None, serde: str) -> Serde[Any]:
    """``inner``; an error that names ``serde`` where it was left open and nothing filled it in."""
    if inner is None:
        message = f"{serde} has no inner serde"
        raise SerializationError(message, hint=f"Give one: serdes.{serde.removesuffix('()')}(serdes.string(), ...).")
    return inner
