"""The stores of joins: of streams a window store per side, and one of records that wait for a partner; of tables by a
foreign key, which left rows wait for which right row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace import serde
from headrace.errors import StreamsError, user_line
from headrace.plan import names
from headrace.plan.stores import dsl_stores
from headrace.state.builders import TypedStoreBuilder
from headrace.state.kinds import TIMESTAMPED_WINDOW, WINDOW, StoreKind
from headrace.state.outer_join import outer_join_store
from headrace.state.store_builder import StoreBuilder
from headrace.state.value_codecs import PLAIN, TIMESTAMPED, HeadersInChangelog
from headrace.windows import EmitStrategy, JoinWindows

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.serde import Serde
    from headrace.serde.foreign_key import SubscriptionSerde


@dataclass
class StreamJoined:
    """The keywords of a stream-stream join that say how its sides are kept (Java: StreamJoined)."""

    key_serde: Serde[Any] | None = None
    value_serde: Serde[Any] | None = None
    other_value_serde: Serde[Any] | None = None
    store_name: str | None = None
    this_store: Any = None
    other_store: Any = None
    store_kind: Any = None
    """What makes the default stores of this join; None: as the topology or the configuration says."""
    topology_store_kind: Any = None
    logging: bool = True
    log_config: dict[str, str] = field(default_factory=dict)


def check_join_stores(joined: StreamJoined, windows: JoinWindows) -> None:
    """Refuse suppliers that do not fit the join, or that share a name."""
    given = [supplier for supplier in (joined.this_store, joined.other_store) if supplier is not None]
    if len(given) == 2 and given[0].name == given[1].name:
        message = f"both stores of the join are called {given[0].name!r}"
        raise StreamsError(message, hint="Give this_store and other_store different names.", at=user_line())
    for supplier in given:
        _check_supplier(supplier, windows)


def _check_supplier(supplier: Any, windows: JoinWindows) -> None:
    if not supplier.retain_duplicates:
        message = f"the store {supplier.name!r} cannot keep several records of one key and time"
        raise StreamsError(message, hint="Make it with retain_duplicates=True.", at=user_line())
    size_ms, retention_ms = windows.size_ms, windows.size_ms + windows.grace_ms
    if (supplier.window_size_ms, supplier.retention_ms) != (size_ms, retention_ms):
        message = f"the store {supplier.name!r} does not fit the windows of the join"
        raise StreamsError(
            message,
            detail=f"size {supplier.window_size_ms} ms, retention {supplier.retention_ms} ms",
            hint=f"The join needs size {size_ms} ms and retention {retention_ms} ms (with the grace period).",
            at=user_line(),
        )


def window_store(
    base_name: str, windows: JoinWindows, joined: StreamJoined, supplier: Any, value_serde: Serde[Any] | None
) -> Any:
    """The builder of one side's window store: of the given supplier, else of the default kind."""
    if supplier is not None:
        return join_window(supplier, joined.key_serde, value_serde)
    return JoinWindowStore(f"{base_name}-store", windows, joined, value_serde)


def join_window(
    supplier: Any, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None, *, with_headers: bool = False
) -> TypedStoreBuilder:
    """The builder of one side's store; values have timestamps and headers only where the supplier keeps them."""
    if with_headers or getattr(supplier, "has_headers", False):
        return TypedStoreBuilder(replace(TIMESTAMPED_WINDOW, headers=True), supplier, key_serde, value_serde)
    if getattr(supplier, "is_timestamped", False):
        codec = HeadersInChangelog(TIMESTAMPED)
        return TypedStoreBuilder(TIMESTAMPED_WINDOW, supplier, key_serde, value_serde, codec=codec)
    return TypedStoreBuilder(WINDOW, supplier, key_serde, value_serde, codec=HeadersInChangelog(PLAIN))


class JoinWindowStore(StoreBuilder):
    """A window store of the default kind: plain values, several per key and time, never cached."""

    is_window_store = True

    def __init__(self, name: str, windows: JoinWindows, joined: StreamJoined, value_serde: Serde[Any] | None) -> None:
        super().__init__(name)
        self.size_ms = windows.size_ms
        self.retention_ms: int = windows.size_ms + windows.grace_ms
        self._joined = joined
        self._value_serde = value_serde
        if joined.logging:
            # Duplicates have keys of their own, so there is nothing to compact.
            self.with_logging_enabled({**joined.log_config, "cleanup.policy": "delete"})
        else:
            self.with_logging_disabled()

    def configured(self, config: StreamsConfig) -> StoreBuilder:
        """The builder of a store of the kind that the join, the topology or the settings name."""
        joined = self._joined
        made_by, format = _dsl_stores(joined, config)
        times, strategy = (self.retention_ms, self.size_ms), EmitStrategy.ON_WINDOW_UPDATE
        supplier = made_by.window_store(self.name, *times, True, strategy, False, False, format)
        builder = join_window(supplier, joined.key_serde, self._value_serde, with_headers=format == "HEADERS")
        return builder.with_logging(self.logging_enabled, self.log_config)


class WaitingStore(StoreBuilder):
    """The store of records that wait for a partner, of the kind of the join's window stores."""

    def __init__(self, generated_name: str, joined: StreamJoined, *, full_outer: bool) -> None:
        super().__init__(_waiting_store_name(generated_name, joined, full_outer=full_outer))
        self._joined = joined
        if joined.logging:
            self.with_logging_enabled(joined.log_config)
        else:
            self.with_logging_disabled()

    def configured(self, config: StreamsConfig) -> StoreBuilder:
        """The builder of a store in memory or not: as said for the join, else as its first store is."""
        joined = self._joined
        example = None if joined.store_kind is not None else joined.this_store
        if example is None:
            example = _dsl_stores(joined, config)[0].key_value_store(self.name, "PLAIN")
        serdes = joined.key_serde, joined.value_serde, joined.other_value_serde
        builder = outer_join_store(self.name, *serdes, in_memory=not example.get().persistent)
        return builder.with_logging(self.logging_enabled, self.log_config)


def _dsl_stores(joined: StreamJoined, config: StreamsConfig) -> tuple[Any, str]:
    given = joined.topology_store_kind if joined.store_kind is None else joined.store_kind
    return dsl_stores(config, given, "PLAIN")


def _waiting_store_name(generated_name: str, joined: StreamJoined, *, full_outer: bool) -> str:
    suffix = "-outer-shared-join-store" if full_outer else "-left-shared-join-store"
    if joined.this_store is not None:
        return f"{joined.this_store.name}{suffix}"
    if joined.store_name is not None:
        return f"{joined.store_name}{suffix}"
    prefix = names.OUTER_THIS if full_outer else names.JOIN_THIS
    return f"{names.OUTER_SHARED}{generated_name.removeprefix(prefix)}-store"


def log_settings(logging: bool | Mapping[str, str] | None) -> tuple[bool, dict[str, str]]:
    """The keyword ``logging``, taken apart: whether to log, and the topic's settings."""
    return logging is not False, dict(logging) if isinstance(logging, Mapping) else {}


_SUBSCRIPTIONS = StoreKind("foreign_key_subscriptions")
_STORED_AS = StoreKind("kv", timestamped=True, headers=True)
"""Changelog records carry the headers of the subscriptions."""


class SubscriptionStore(StoreBuilder):
    """A key-value store of the configured kind, never cached. Keys are bytes: prefixes have to be found."""

    kind = _SUBSCRIPTIONS

    def __init__(self, name: str, subscription_serde: SubscriptionSerde, dsl_store: Any = None) -> None:
        super().__init__(name)
        self._serde = subscription_serde
        self._dsl_store = dsl_store

    def configured(self, config: StreamsConfig) -> StoreBuilder:
        made_by, format = dsl_stores(config, self._dsl_store, "TIMESTAMPED")
        supplier = made_by.key_value_store(self.name, format)
        builder = TypedStoreBuilder(_STORED_AS, supplier, serde.bytes(), self._serde, shown_as=_SUBSCRIPTIONS)
        return builder.with_logging(self.logging_enabled, self.log_config)

    def is_compatible_with(self, other: object) -> bool:
        """Both sides of the join bring the same store along."""
        return isinstance(other, SubscriptionStore) and other.name == self.name
