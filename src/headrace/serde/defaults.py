"""Serdes left open by the program, filled in from the configuration when a task starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.serde import Serde


def resolve_key_serde(serde: Serde[Any] | None, config: StreamsConfig) -> Serde[Any]:
    """``serde``, or the default key serde; wrapping serdes get their inner one filled in."""
    if serde is None:
        return config.default_key_serde
    return serde.with_defaults(config, is_key=True) if hasattr(serde, "with_defaults") else serde


def resolve_value_serde(serde: Serde[Any] | None, config: StreamsConfig) -> Serde[Any]:
    """``serde``, or the default value serde; wrapping serdes get their inner one filled in."""
    if serde is None:
        return config.default_value_serde
    return serde.with_defaults(config, is_key=False) if hasattr(serde, "with_defaults") else serde
