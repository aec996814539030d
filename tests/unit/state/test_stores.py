"""The names users know: suppliers, builders, kinds of stores."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import cloudpickle
import pytest

from headrace.errors import ArgumentError, ConfigError, OperatorTypeError
from headrace.state import stores
from headrace.state.suppliers import TimeOrderedSessionSupplier, TimeOrderedWindowSupplier
from headrace.windows import EmitStrategy

UPDATE, CLOSE = EmitStrategy.ON_WINDOW_UPDATE, EmitStrategy.ON_WINDOW_CLOSE


def test_suppliers_say_what_they_make() -> None:
    window = stores.persistent_window("w", timedelta(minutes=10), timedelta(minutes=1))
    assert (window.name, window.retention_ms, window.window_size_ms) == ("w", 600_000, 60_000)
    assert window.segment_interval_ms == 300_000
    assert stores.persistent_session("s", 1000).segment_interval_ms == 60_000
    assert stores.in_memory_window("w", 10, 5).segment_interval_ms == 1
    assert stores.lru("l", 10).metrics_scope == "in-memory-lru"
    assert stores.persistent_timestamped("k").is_timestamped
    assert not stores.persistent("k").is_timestamped


@pytest.mark.parametrize(
    ("history", "interval"),
    [(1000, 2000), (60_000, 20_000), (240_000, 48_000), (3_600_000, 300_000), (86_400_000, 3_600_000)],
)
def test_the_segments_of_versioned_stores_grow_with_the_history(history: int, interval: int) -> None:
    assert stores.versioned("v", history).segment_interval_ms == interval
    assert stores.versioned("v", history, timedelta(seconds=9)).segment_interval_ms == 9000


@pytest.mark.parametrize(
    "call",
    [
        lambda: stores.lru("s", -1),
        lambda: stores.versioned("s", -1),
        lambda: stores.versioned("s", 10, 0),
        lambda: stores.persistent_window("s", -1, 1),
        lambda: stores.in_memory_window("s", 1, -1),
        lambda: stores.persistent_window("s", 5, 10),
        lambda: stores.in_memory_window("s", 5, 10),
        lambda: stores.persistent_session("s", -1),
        lambda: stores.in_memory_session("s", -1),
    ],
)
def test_refuses_times_that_cannot_be_meant(call: Any) -> None:
    with pytest.raises(ArgumentError):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: stores.in_memory(None),  # type: ignore[arg-type]
        lambda: stores.persistent_session(None, 1),  # type: ignore[arg-type]
        lambda: stores.key_value(None),
        lambda: stores.versioned_key_value(None),
        lambda: stores.window(None),
        lambda: stores.session(None),
    ],
)
def test_refuses_none(call: Any) -> None:
    with pytest.raises(OperatorTypeError):
        call()


def test_builders_say_what_a_topology_asks() -> None:
    key_value = stores.key_value(stores.in_memory("k"))
    window = stores.timestamped_window(stores.in_memory_window("w", 10, 5))
    session = stores.session(stores.in_memory_session("s", 20))
    versioned = stores.versioned_key_value(stores.versioned("v", 30))

    assert (key_value.is_window_store, key_value.retention_ms, key_value.caching_enabled) == (False, None, False)
    assert (window.is_window_store, window.retention_ms) == (True, 10)
    assert (session.is_window_store, session.retention_ms) == (True, 20)
    assert (versioned.is_versioned_store, versioned.history_ms) == (True, 30)
    assert key_value.is_compatible_with(key_value)
    assert not key_value.is_compatible_with(stores.key_value(stores.in_memory("k")))


def test_logging_settings_add_up_until_logging_is_off() -> None:
    builder = stores.key_value(stores.in_memory("k")).with_logging_enabled({"a": "1"}).with_logging_enabled({"b": "2"})
    assert builder.log_config == {"a": "1", "b": "2"}
    builder.with_logging_disabled()
    assert (builder.logging_enabled, builder.log_config) == (False, {})


@pytest.mark.parametrize(
    ("builder", "kind"),
    [
        (stores.key_value(stores.persistent("s")), "kv"),
        (stores.timestamped_key_value(stores.in_memory("s")), "timestamped_kv"),
        (stores.timestamped_key_value(stores.ROCKSDB.key_value_store("s", "HEADERS")), "timestamped_kv_with_headers"),
        (stores.timestamped_key_value(stores.IN_MEMORY.key_value_store("s", "HEADERS")), "timestamped_kv"),
        (stores.window(stores.persistent_window("s", 10, 5)), "window"),
        (stores.timestamped_window(stores.in_memory_window("s", 10, 5)), "timestamped_window"),
        (
            stores.timestamped_window(stores.persistent_timestamped_window_with_headers("s", 10, 5)),
            "timestamped_window_with_headers",
        ),
        (stores.session(stores.persistent_session("s", 10)), "session"),
        (stores.session(stores.persistent_session_with_headers("s", 10)), "session_with_headers"),
        (stores.versioned_key_value(stores.versioned("s", 10)), "versioned"),
    ],
)
def test_builders_travel_and_build_their_type_of_store(builder: Any, kind: str) -> None:
    store = cloudpickle.loads(cloudpickle.dumps(builder)).build()

    assert (store.name, str(store.kind), str(builder.kind)) == ("s", kind, kind)


def test_stores_that_emit_at_the_close_of_a_window_are_ordered_by_time_in_rocksdb() -> None:
    window = stores.ROCKSDB.window_store("w", 100, 10, False, CLOSE, True, True, "TIMESTAMPED")
    assert window == TimeOrderedWindowSupplier("w", 100, 10, with_index=True)
    assert stores.ROCKSDB.session_store("s", 100, CLOSE) == TimeOrderedSessionSupplier("s", 100)
    assert stores.IN_MEMORY.session_store("s", 100, CLOSE) == stores.in_memory_session("s", 100)
    assert stores.ROCKSDB.session_store("s", 100, UPDATE) == stores.persistent_session("s", 100)
    join = stores.ROCKSDB.window_store("w", 100, 10, True, UPDATE, False, False, "PLAIN")
    assert join == stores.persistent_window("w", 100, 10, True)


def test_kinds_of_stores_have_names() -> None:
    class Custom(stores.InMemoryStores):
        """A kind of its own."""

    assert stores.dsl_store("rocksDB") is stores.dsl_store("ROCKS_DB") is stores.dsl_store(None) is stores.ROCKSDB
    assert stores.dsl_store("in_memory") is stores.IN_MEMORY
    assert isinstance(stores.dsl_store(Custom), Custom)
    with pytest.raises(ConfigError, match="'disk'"):
        stores.dsl_store("disk")
    with pytest.raises(ConfigError):
        stores.dsl_store(3)
