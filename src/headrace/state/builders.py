"""Store builders: they stack a typed store around the bytes store that a supplier makes.

From the inside: the supplier's store, an adapter where its format is simpler than the builder's, the changelog,
the cache, the typed store.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headrace.errors import OperatorTypeError
from headrace.serde.given import given_serde
from headrace.state.bytes_stores import BytesKeyValueStore, BytesSessionStore, BytesWindowStore
from headrace.state.layers.adapters import (
    KeyValueAdapter,
    PlainKeyValueAsTimestamped,
    PlainWindowAsTimestamped,
    WindowAdapter,
)
from headrace.state.layers.headers import HEADERS, SESSION_HEADERS, for_headers, session_for_headers
from headrace.state.layers.key_value_caching import CachingKeyValueStore
from headrace.state.layers.logging import (
    ChangeLoggingKeyValueStore,
    ChangeLoggingSessionStore,
    ChangeLoggingWindowStore,
)
from headrace.state.layers.metered import MeteredKeyValueStore, MeteredSessionStore, MeteredWindowStore
from headrace.state.layers.session_caching import CachingSessionStore
from headrace.state.layers.time_ordered_caching import TimeOrderedCachingWindowStore
from headrace.state.layers.window_caching import CachingWindowStore
from headrace.state.store_builder import StoreBuilder
from headrace.state.suppliers import TimeOrderedWindowSupplier
from headrace.state.value_codecs import PLAIN, TIMESTAMPED, ValueCodec

if TYPE_CHECKING:
    from headrace.serde import Serde

log = logging.getLogger(__name__)


class TypedStoreBuilder(StoreBuilder):
    """A builder of typed stores from a supplier of bytes stores."""

    def __init__(
        self, supplier: Any, key_serde: Serde[Any] | None = None, value_serde: Serde[Any] | None = None
    ) -> None:
        if supplier is None:
            raise OperatorTypeError("a store builder needs a supplier", hint='For example stores.persistent("name").')
        super().__init__(supplier.name)
        self.supplier = supplier
        self.key_serde = given_serde("key_serde", key_serde)
        self.value_serde = given_serde("value_serde", value_serde)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.supplier!r}>"

    def _supplier_is(self, quality: str) -> bool:
        return bool(getattr(self.supplier, quality, False))


class KeyValueStoreBuilder(TypedStoreBuilder):
    """Builds key-value stores."""

    store_type = "kv"
    codec: ValueCodec = PLAIN

    def build(self) -> MeteredKeyValueStore:
        store = self._for_codec(self.supplier.get())
        if self.logging_enabled:
            store = ChangeLoggingKeyValueStore(store, self.codec)
        if self.caching_enabled:
            store = CachingKeyValueStore(store)
        return MeteredKeyValueStore(
            store,
            self.store_type,
            self.key_serde,
            self.value_serde,
            codec=self.codec,
            metrics_scope=self.supplier.metrics_scope,
        )

    def _for_codec(self, store: BytesKeyValueStore) -> BytesKeyValueStore:
        return store


class TimestampedKeyValueStoreBuilder(KeyValueStoreBuilder):
    """Builds key-value stores whose values have timestamps."""

    store_type = "timestamped_kv"
    codec: ValueCodec = TIMESTAMPED

    def _for_codec(self, store: BytesKeyValueStore) -> BytesKeyValueStore:
        if store.persistent and not self._supplier_is("is_timestamped"):
            return PlainKeyValueAsTimestamped(store)
        store.codec = TIMESTAMPED
        return store


class HeadersKeyValueStoreBuilder(KeyValueStoreBuilder):
    """Builds key-value stores whose values have timestamps and headers."""

    store_type = "timestamped_kv_with_headers"
    codec: ValueCodec = HEADERS

    def _for_codec(self, store: BytesKeyValueStore) -> BytesKeyValueStore:
        has_headers, is_timestamped = self._supplier_is("has_headers"), self._supplier_is("is_timestamped")
        return for_headers(store, KeyValueAdapter, has_headers=has_headers, is_timestamped=is_timestamped)


class WindowStoreBuilder(TypedStoreBuilder):
    """Builds window stores. One that retains duplicates is never cached: the cache would merge them."""

    is_window_store = True
    store_type = "window"
    codec: ValueCodec = PLAIN

    def __init__(
        self, supplier: Any, key_serde: Serde[Any] | None = None, value_serde: Serde[Any] | None = None
    ) -> None:
        super().__init__(supplier, key_serde, value_serde)
        self.retention_ms = supplier.retention_ms
        if supplier.retain_duplicates:
            self.log_config.update(self._duplicates_log_config())

    def build(self) -> MeteredWindowStore:
        supplier = self.supplier
        store = self._for_codec(supplier.get())
        if supplier.retain_duplicates and self.caching_enabled:
            log.warning("store %s retains duplicates and is therefore not cached", self.name)
            self.caching_enabled = False
        if self.logging_enabled:
            store = ChangeLoggingWindowStore(store, self.codec, retain_duplicates=supplier.retain_duplicates)
        if self.caching_enabled:
            store = self._cached(store)
        return MeteredWindowStore(
            store,
            self.store_type,
            self.key_serde,
            self.value_serde,
            window_size_ms=supplier.window_size_ms,
            codec=self.codec,
            metrics_scope=supplier.metrics_scope,
            retain_duplicates=supplier.retain_duplicates,
        )

    def _cached(self, store: BytesWindowStore) -> BytesWindowStore:
        supplier = self.supplier
        if isinstance(supplier, TimeOrderedWindowSupplier):
            return TimeOrderedCachingWindowStore(store, supplier.segment_interval_ms, with_index=supplier.with_index)
        return CachingWindowStore(store, supplier.segment_interval_ms)

    def _for_codec(self, store: BytesWindowStore) -> BytesWindowStore:
        return store

    def _duplicates_log_config(self) -> Mapping[str, str]:
        # Duplicates have keys of their own in the changelog, so there is nothing to compact.
        return {"cleanup.policy": "delete"}


class TimestampedWindowStoreBuilder(WindowStoreBuilder):
    """Builds window stores whose values have timestamps."""

    store_type = "timestamped_window"
    codec: ValueCodec = TIMESTAMPED

    def _for_codec(self, store: BytesWindowStore) -> BytesWindowStore:
        if store.persistent and not self._supplier_is("is_timestamped"):
            return PlainWindowAsTimestamped(store)
        store.codec = TIMESTAMPED
        return store

    def _duplicates_log_config(self) -> Mapping[str, str]:
        return {}


class HeadersWindowStoreBuilder(WindowStoreBuilder):
    """Builds window stores whose values have timestamps and headers."""

    store_type = "timestamped_window_with_headers"
    codec: ValueCodec = HEADERS

    def _for_codec(self, store: BytesWindowStore) -> BytesWindowStore:
        has_headers, is_timestamped = self._supplier_is("has_headers"), self._supplier_is("is_timestamped")
        return for_headers(store, WindowAdapter, has_headers=has_headers, is_timestamped=is_timestamped)

    def _duplicates_log_config(self) -> Mapping[str, str]:
        return {}


class SessionStoreBuilder(TypedStoreBuilder):
    """Builds session stores."""

    is_window_store = True
    store_type = "session"
    codec: ValueCodec = PLAIN

    def __init__(
        self, supplier: Any, key_serde: Serde[Any] | None = None, value_serde: Serde[Any] | None = None
    ) -> None:
        super().__init__(supplier, key_serde, value_serde)
        self.retention_ms = supplier.retention_ms

    def build(self) -> MeteredSessionStore:
        store = self._for_codec(self.supplier.get())
        if self.logging_enabled:
            store = ChangeLoggingSessionStore(store, self.codec)
        if self.caching_enabled:
            store = CachingSessionStore(store, self.supplier.segment_interval_ms)
        return MeteredSessionStore(
            store,
            self.store_type,
            self.key_serde,
            self.value_serde,
            codec=self.codec,
            metrics_scope=self.supplier.metrics_scope,
        )

    def _for_codec(self, store: BytesSessionStore) -> BytesSessionStore:
        return store


class HeadersSessionStoreBuilder(SessionStoreBuilder):
    """Builds session stores whose values have room for headers."""

    store_type = "session_with_headers"
    codec: ValueCodec = SESSION_HEADERS

    def _for_codec(self, store: BytesSessionStore) -> BytesSessionStore:
        return session_for_headers(store, has_headers=self._supplier_is("has_headers"))
