"""The store of a foreign-key join: which left rows wait for which right row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace import serde
from headrace.state import stores
from headrace.state.builders import HeadersKeyValueStoreBuilder

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.serde.foreign_key import SubscriptionSerde


class SubscriptionStore:
    """A store builder: key-value, never cached, of the configured kind. Keys are bytes: prefixes have to be found."""

    is_window_store = False
    retention_ms: int | None = None
    is_versioned_store = False
    history_ms: int | None = None
    caching_enabled = False

    def __init__(self, name: str, subscription_serde: SubscriptionSerde, dsl_store: Any = None) -> None:
        self.name = name
        self.logging_enabled = True
        self.log_config: dict[str, str] = {}
        self._serde = subscription_serde
        self._dsl_store = dsl_store
        self._kind: Any = None
        self._format = "TIMESTAMPED"

    def configure(self, config: StreamsConfig) -> None:
        given = self._dsl_store
        self._kind = stores.dsl_store(config["dsl.store.suppliers.class"] if given is None else given)
        self._format = "HEADERS" if str(config["dsl.store.format"]).upper() == "HEADERS" else "TIMESTAMPED"

    def with_caching_enabled(self) -> SubscriptionStore:
        """Without effect: both sides of the join must see every subscription at once."""
        return self

    def with_caching_disabled(self) -> SubscriptionStore:
        """Without effect: the store is never cached."""
        return self

    def with_logging_enabled(self, config: dict[str, str] | None = None) -> SubscriptionStore:
        """Keep a changelog, created with these topic settings."""
        self.logging_enabled = True
        self.log_config = dict(config or {})
        return self

    def with_logging_disabled(self) -> SubscriptionStore:
        self.logging_enabled = False
        return self

    def is_compatible_with(self, other: object) -> bool:
        """Both sides of the join bring the same store along."""
        return isinstance(other, SubscriptionStore) and other.name == self.name

    def build(self) -> Any:
        supplier = self._kind.key_value_store(self.name, self._format)
        builder = SubscriptionStoreBuilder(supplier, serde.bytes(), self._serde)
        if self.logging_enabled:
            builder.with_logging_enabled(self.log_config)
        else:
            builder.with_logging_disabled()
        builder.with_caching_disabled()
        return builder.build()


class SubscriptionStoreBuilder(HeadersKeyValueStoreBuilder):
    """Builds the store itself: its changelog records carry the headers of the subscriptions."""

    store_type = "foreign_key_subscriptions"
