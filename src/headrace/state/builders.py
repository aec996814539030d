"""The builder of typed stores: it stacks layers around the bytes store that a supplier makes.

From the inside: the supplier's store, an adapter where its format is simpler than the builder's, the changelog,
the cache, the typed store. What the shapes of stores do not share is in one table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.errors import IllegalStateError, OperatorTypeError, user_line
from headrace.serde.given import given_serde
from headrace.state.kinds import VERSIONED, WINDOW, StoreKind
from headrace.state.layers.adapters import for_headers, for_timestamps, session_for_headers
from headrace.state.layers.caching import CachingKeyValueStore
from headrace.state.layers.logging import (
    ChangeLoggingDuplicates,
    ChangeLoggingKeyValueStore,
    ChangeLoggingTimedStore,
)
from headrace.state.layers.time_ordered_caching import TimeOrderedCachingWindowStore
from headrace.state.layers.timed_caching import CachingSessionStore, CachingWindowStore
from headrace.state.layers.typed import TypedKeyValueStore, TypedSessionStore, TypedWindowStore
from headrace.state.layers.versioned import ChangeLoggingVersionedStore, TypedVersionedStore
from headrace.state.store_builder import StoreBuilder
from headrace.state.suppliers import TimeOrderedWindowSupplier
from headrace.state.value_codecs import HEADERS, PLAIN, SESSION_HEADERS, TIMESTAMPED, ValueCodec

if TYPE_CHECKING:
    from headrace.serde.contract import GivenSerde

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Shape:
    """The layers of one shape of stores; the cache is told of the supplier."""

    with_changelog: Callable[[Any, ValueCodec], Any]
    typed: Callable[..., Any]
    with_cache: Callable[[Any, Any], Any] | None = None
    options: tuple[str, ...] = ()
    """What the typed store wants to know of the supplier."""


def _cached_window(store: Any, supplier: Any) -> Any:
    if isinstance(supplier, TimeOrderedWindowSupplier):
        return TimeOrderedCachingWindowStore(store, supplier.segment_interval_ms, with_index=supplier.with_index)
    return CachingWindowStore(store, supplier.segment_interval_ms)


_SUPPLIERS = {
    "kv": 'stores.persistent("name") or stores.in_memory("name")',
    "versioned": 'stores.versioned("name", history)',
    "window": 'stores.persistent_window("name", retention, size) or stores.in_memory_window("name", retention, size)',
    "session": 'stores.persistent_session("name", retention) or stores.in_memory_session("name", retention)',
}
_SHAPES = {
    "kv": _Shape(
        with_changelog=ChangeLoggingKeyValueStore,
        with_cache=lambda store, supplier: CachingKeyValueStore(store),
        typed=TypedKeyValueStore,
    ),
    "versioned": _Shape(with_changelog=ChangeLoggingVersionedStore, typed=TypedVersionedStore),
    "window": _Shape(
        with_changelog=ChangeLoggingTimedStore,
        with_cache=_cached_window,
        typed=TypedWindowStore,
        options=("window_size_ms", "retain_duplicates"),
    ),
    "session": _Shape(
        with_changelog=ChangeLoggingTimedStore,
        with_cache=lambda store, supplier: CachingSessionStore(store, supplier.segment_interval_ms),
        typed=TypedSessionStore,
    ),
}


class TypedStoreBuilder(StoreBuilder):
    """Builds typed stores of one kind. A store that retains duplicates is never cached: the cache would merge them."""

    def __init__(
        self,
        kind: StoreKind,
        supplier: Any,
        key_serde: GivenSerde[Any] | None = None,
        value_serde: GivenSerde[Any] | None = None,
        *,
        codec: ValueCodec | None = None,
        shown_as: StoreKind | None = None,
    ) -> None:
        """``codec`` where changelog records are not as usual; ``shown_as`` for a store that an operator hides."""
        if supplier is None:
            raise OperatorTypeError("a store builder needs a supplier", hint='For example stores.persistent("name").')
        if not hasattr(supplier, "get") or not hasattr(supplier, "name"):
            message = f"a store builder takes a supplier, found {supplier!r}"
            raise OperatorTypeError(message, hint='For example stores.persistent("name").', at=user_line())
        if kind.is_windowed != hasattr(supplier, "retention_ms"):
            message = f"{supplier!r} makes no store of the kind {kind.shape}"
            raise OperatorTypeError(message, hint=f"Use {_SUPPLIERS[kind.shape]}.", at=user_line())
        super().__init__(supplier.name)
        self.kind = shown_as or kind
        self.supplier = supplier
        self.key_serde = given_serde("key_serde", key_serde)
        self.value_serde = given_serde("value_serde", value_serde)
        self.is_window_store = kind.is_windowed
        self.is_versioned_store = kind == VERSIONED
        self.retention_ms = getattr(supplier, "retention_ms", None)
        self.history_ms = getattr(supplier, "history_ms", None)
        self.codec = _codec_of(kind) if codec is None else codec
        self._stored = kind
        if codec is None and kind == WINDOW and supplier.retain_duplicates:
            # Duplicates have keys of their own in the changelog, so there is nothing to compact.
            self.log_config["cleanup.policy"] = "delete"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {self.supplier!r}>"

    def with_caching_enabled(self) -> TypedStoreBuilder:
        if self.is_versioned_store:
            # A cache would lose versions.
            raise IllegalStateError("versioned stores cannot be cached", hint="Leave caching off for this store.")
        return super().with_caching_enabled()

    def build(self) -> Any:
        supplier, shape = self.supplier, _SHAPES[self._stored.shape]
        store = self._adapted(supplier.get())
        has_duplicates = getattr(supplier, "retain_duplicates", False)
        if self.logging_enabled:
            with_changelog = ChangeLoggingDuplicates if has_duplicates else shape.with_changelog
            store = with_changelog(store, self.codec)
        if self.caching_enabled and has_duplicates:
            log.warning("store %s retains duplicates and is therefore not cached", self.name)
        elif self.caching_enabled and shape.with_cache is not None:
            store = shape.with_cache(store, supplier)
        return shape.typed(
            store,
            self.kind,
            self.key_serde,
            self.value_serde,
            codec=self.codec,
            metrics_scope=supplier.metrics_scope,
            **{name: getattr(supplier, name) for name in shape.options},
        )

    def _adapted(self, store: Any) -> Any:
        """The supplier's store as one that takes values of this kind; stores in memory keep any bytes."""
        is_timestamped = getattr(self.supplier, "is_timestamped", False)
        has_headers = getattr(self.supplier, "has_headers", False)
        if self._stored.headers and self._stored.shape == "session":
            return session_for_headers(store, has_headers=has_headers)
        if self._stored.headers:
            return for_headers(store, has_headers=has_headers, is_timestamped=is_timestamped)
        return for_timestamps(store, is_timestamped=is_timestamped) if self._stored.timestamped else store


def _codec_of(kind: StoreKind) -> ValueCodec:
    if kind.headers:
        return SESSION_HEADERS if kind.shape == "session" else HEADERS
    return TIMESTAMPED if kind.timestamped else PLAIN
