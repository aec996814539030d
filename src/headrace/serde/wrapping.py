"""What serdes around another serde share: an inner one that may be left open until the configuration is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import SerializationError
from headrace.serde.contract import Serde
from headrace.serde.defaults import resolve_key_serde, resolve_value_serde

if TYPE_CHECKING:
    from headrace.config import StreamsConfig


def resolve_inner(inner: Serde[Any] | None, config: StreamsConfig, *, is_key: bool) -> Serde[Any]:
    """``inner`` with the configuration's defaults filled in, for a key or for a value."""
    return resolve_key_serde(inner, config) if is_key else resolve_value_serde(inner, config)


def known_inner(inner: Serde[Any] | None, serde: str) -> Serde[Any]:
    """``inner``; an error that names ``serde`` where it was left open and nothing filled it in."""
    if inner is None:
        message = f"{serde} has no inner serde"
        raise SerializationError(message, hint=f"Give one: serdes.{serde.removesuffix('()')}(serdes.string(), ...).")
    return inner
