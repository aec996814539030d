"""The stores of the DSL: builders that learn from the configuration which kind of store to build.

An operator makes one when it materialises its table. What kind of store it becomes is settled by ``configured``,
once the settings are known; a supplier given by the user wins over them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from headrace.errors import ArgumentError, InternalError, OperatorTypeError, user_line
from headrace.state import stores
from headrace.windows import EmitStrategy

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.plan.materialized import Materialized
    from headrace.state.store_builder import StoreBuilder
    from headrace.windows import SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows


class Materializer(ABC):
    """A store builder made from the ``store=`` keywords of an operator."""

    is_window_store = False
    retention_ms: int | None = None
    default_format = "TIMESTAMPED"
    needs = "key-value"
    """Which kind of supplier it takes."""

    def __init__(self, materialized: Materialized) -> None:
        self.materialized = materialized
        _check_supplier(materialized.supplier, self.needs)

    @property
    def name(self) -> str:
        if self.materialized.store_name is None:
            raise InternalError("a store was asked for its name before it had one")
        return self.materialized.store_name

    @property
    def logging_enabled(self) -> bool:
        return self.materialized.logging

    @property
    def log_config(self) -> dict[str, str]:
        return self.materialized.log_config

    @property
    def is_versioned_store(self) -> bool:
        """Whether the store keeps versions of its rows."""
        return self.materialized.is_versioned

    @property
    def history_ms(self) -> int | None:
        """How long a versioned store keeps old versions; None for other stores."""
        return self.materialized.supplier.history_ms if self.is_versioned_store else None

    def configured(self, config: StreamsConfig) -> StoreBuilder:
        """What builds the store: of the supplier that the user gave, else of the kind that the settings name."""
        given = self.materialized
        supplier = self._default_supplier(config) if given.supplier is None else given.supplier
        builder: StoreBuilder = self._builder_of(supplier)
        builder.retention_ms = self.retention_ms
        builder.is_queryable = given.queryable
        builder.caching_enabled = given.caching and self._may_cache and config["statestore.cache.max.bytes"] != 0
        return builder.with_logging(given.logging, given.log_config)

    def with_logging_disabled(self) -> Materializer:
        self.materialized.logging = False
        self.materialized.log_config = {}
        return self

    def is_compatible_with(self, other: Any) -> bool:
        """Whether ``other`` describes the very same store, so that two operators may both register it."""
        return isinstance(other, Materializer) and other.materialized is self.materialized

    @property
    def _may_cache(self) -> bool:
        return True

    def _default_supplier(self, config: StreamsConfig) -> Any:
        given = self.materialized.dsl_store
        return self._supplier_of(*dsl_stores(config, given, self.default_format))

    @abstractmethod
    def _supplier_of(self, made_by: Any, format: str) -> Any: ...

    @abstractmethod
    def _builder_of(self, supplier: Any) -> Any: ...

    def _check_retention(self, needed_ms: int, needed: str) -> None:
        if self.retention_ms is not None and needed_ms > self.retention_ms:
            message = f"the retention of store {self.name!r} is too short: it must be at least {needed}"
            raise ArgumentError(
                message,
                detail=f"retention {self.retention_ms} ms, needed {needed_ms} ms",
                hint="Give a longer retention=, or none.",
                at=user_line(),
            )


class KeyValueMaterializer(Materializer):
    """One row per key, with its timestamp; versioned where the supplier is."""

    @property
    def _may_cache(self) -> bool:
        # A cache would swallow the versions between two flushes.
        return not self.is_versioned_store

    def _supplier_of(self, made_by: Any, format: str) -> Any:
        return made_by.key_value_store(self.name, format)

    def _builder_of(self, supplier: Any) -> Any:
        build = stores.versioned_key_value if self.is_versioned_store else stores.timestamped_key_value
        return build(supplier, self.materialized.key_serde, self.materialized.value_serde)


class WindowMaterializer(Materializer):
    """One row per key and window of ``TimeWindows`` or ``UnlimitedWindows``."""

    is_window_store = True
    is_sliding = False
    needs = "window"

    def __init__(
        self, materialized: Materialized, windows: TimeWindows | UnlimitedWindows, emit_strategy: EmitStrategy
    ) -> None:
        self._start(materialized, emit_strategy, size_ms=windows.size_ms, needed_ms=windows.size_ms + windows.grace_ms)
        self._check_retention(self.needed_ms, "the window size plus the grace period")

    def _start(self, materialized: Materialized, emit_strategy: EmitStrategy, *, size_ms: int, needed_ms: int) -> None:
        super().__init__(materialized)
        self.emit_strategy = emit_strategy
        self.size_ms = size_ms
        self.needed_ms = needed_ms
        self.retention_ms = needed_ms if materialized.retention_ms is None else materialized.retention_ms

    def _supplier_of(self, made_by: Any, format: str) -> Any:
        return made_by.window_store(
            self.name, self.retention_ms, self.size_ms, False, self.emit_strategy, self.is_sliding, True, format
        )

    def _builder_of(self, supplier: Any) -> Any:
        return stores.timestamped_window(supplier, self.materialized.key_serde, self.materialized.value_serde)


class SlidingWindowMaterializer(WindowMaterializer):
    """One row per key and window of ``SlidingWindows``."""

    is_sliding = True

    def __init__(self, materialized: Materialized, windows: SlidingWindows, emit_strategy: EmitStrategy) -> None:
        # A record may need the windows that start up to twice the difference before it.
        needed_ms = 2 * windows.difference_ms + windows.grace_ms
        self._start(materialized, emit_strategy, size_ms=windows.difference_ms, needed_ms=needed_ms)
        self._check_retention(needed_ms, "twice the time difference plus the grace period")

    @property
    def _may_cache(self) -> bool:
        return self.emit_strategy is not EmitStrategy.ON_WINDOW_CLOSE


class SessionMaterializer(Materializer):
    """One row per key and session."""

    is_window_store = True
    default_format = "PLAIN"
    needs = "session"

    def __init__(self, materialized: Materialized, windows: SessionWindows, emit_strategy: EmitStrategy) -> None:
        super().__init__(materialized)
        self.emit_strategy = emit_strategy
        needed_ms = windows.gap_ms + windows.grace_ms
        self.retention_ms = needed_ms if materialized.retention_ms is None else materialized.retention_ms
        self._check_retention(needed_ms, "the inactivity gap plus the grace period")

    @property
    def _may_cache(self) -> bool:
        return self.emit_strategy is not EmitStrategy.ON_WINDOW_CLOSE

    def _supplier_of(self, made_by: Any, format: str) -> Any:
        return made_by.session_store(self.name, self.retention_ms, self.emit_strategy, format)

    def _builder_of(self, supplier: Any) -> Any:
        return stores.session(supplier, self.materialized.key_serde, self.materialized.value_serde)


def dsl_stores(config: StreamsConfig, given: Any, default_format: str) -> tuple[Any, str]:
    """What makes the suppliers of the DSL's stores, as given or else as configured, and the format of their values."""
    with_headers = str(config["dsl.store.format"]).upper() == "HEADERS"
    made_by = stores.dsl_store(config["dsl.store.suppliers.class"] if given is None else given)
    return made_by, "HEADERS" if with_headers else default_format


def _check_supplier(supplier: Any, needed: str) -> None:
    if supplier is None:
        return
    with_retention = "window" if hasattr(supplier, "window_size_ms") else "session"
    found = with_retention if hasattr(supplier, "retention_ms") else "key-value"
    if found != needed:
        message = f"store {supplier.name!r} is a {found} store, but this table is kept in a {needed} store"
        raise OperatorTypeError(message, at=user_line())
