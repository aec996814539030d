"""The store of a foreign-key join: which left rows wait for which right row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace import serde
from headrace.plan.stores import dsl_stores
from headrace.state.builders import TypedStoreBuilder
from headrace.state.kinds import StoreKind
from headrace.state.store_builder import StoreBuilder

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.serde.foreign_key import SubscriptionSerde

_KIND = StoreKind("foreign_key_subscriptions")
_STORED_AS = StoreKind("kv", timestamped=True, headers=True)
"""Changelog records carry the headers of the subscriptions."""


class SubscriptionStore(StoreBuilder):
    """A key-value store of the configured kind, never cached. Keys are bytes: prefixes have to be found."""

    kind = _KIND

    def __init__(self, name: str, subscription_serde: SubscriptionSerde, dsl_store: Any = None) -> None:
        super().__init__(name)
        self._serde = subscription_serde
        self._dsl_store = dsl_store

    def configured(self, config: StreamsConfig) -> StoreBuilder:
        made_by, format = dsl_stores(config, self._dsl_store, "TIMESTAMPED")
        supplier = made_by.key_value_store(self.name, format)
        builder = TypedStoreBuilder(_STORED_AS, supplier, serde.bytes(), self._serde, shown_as=_KIND)
        return builder.with_logging(self.logging_enabled, self.log_config)

    def is_compatible_with(self, other: object) -> bool:
        """Both sides of the join bring the same store along."""
        return isinstance(other, SubscriptionStore) and other.name == self.name
