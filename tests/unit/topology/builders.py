"""A store builder that builds nothing: all a topology needs to know of a store."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from headrace.config import StreamsConfig


@dataclass(eq=False)
class FakeBuilder:
    name: str
    logging_enabled: bool = True
    log_config: dict[str, str] = field(default_factory=dict)
    caching_enabled: bool = True
    is_window_store: bool = False
    retention_ms: int | None = None
    is_versioned_store: bool = False
    history_ms: int | None = None
    config: StreamsConfig | None = None

    def configured(self, config: StreamsConfig) -> FakeBuilder:
        return replace(self, config=config)

    def with_logging_disabled(self) -> FakeBuilder:
        self.logging_enabled = False
        return self

    def is_compatible_with(self, other: object) -> bool:
        return self is other

    def build(self) -> Any:
        raise AssertionError("a plan holds builders, it builds nothing")
