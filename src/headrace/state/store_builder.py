"""What all store builders have in common: a name, and whether changes are logged and cached."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.state.kinds import StoreKind

if TYPE_CHECKING:
    from headrace.config import StreamsConfig

Self = TypeVar("Self", bound="StoreBuilder")


class StoreBuilder:
    """Makes the stores of one name, one per task. Settings may be changed until the topology is built."""

    kind: StoreKind
    is_window_store = False
    retention_ms: int | None = None
    is_versioned_store = False
    history_ms: int | None = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.logging_enabled = True
        self.log_config: dict[str, str] = {}
        self.caching_enabled = False
        self.is_queryable = False
        """Whether the user has named it, though the name looks like a generated one."""

    def configured(self, config: StreamsConfig) -> StoreBuilder:
        """A copy as it is under ``config``: not cached where there is no cache."""
        settled = copy.copy(self)
        settled.log_config = dict(self.log_config)
        if config["statestore.cache.max.bytes"] == 0:
            settled.caching_enabled = False
        return settled

    def with_caching_enabled(self: Self) -> Self:
        """Cache writes, so that only the last of several is logged and sent on."""
        self.caching_enabled = True
        return self

    def with_caching_disabled(self: Self) -> Self:
        self.caching_enabled = False
        return self

    def with_logging_enabled(self: Self, config: Mapping[str, str] | None = None) -> Self:
        """Keep a changelog topic with these settings, added to those there are."""
        self.logging_enabled = True
        self.log_config.update(config or {})
        return self

    def with_logging_disabled(self: Self) -> Self:
        """Keep no changelog: the store is lost with its task's directory."""
        self.logging_enabled = False
        self.log_config = {}
        return self

    def with_logging(self: Self, enabled: bool, config: Mapping[str, str]) -> Self:
        """Logged with these settings, or not logged."""
        return self.with_logging_enabled(config) if enabled else self.with_logging_disabled()

    def build(self) -> Any:
        raise NotImplementedError

    def is_compatible_with(self, other: object) -> bool:
        """Whether ``other`` may be registered under the same name: only the very same builder."""
        return self is other
