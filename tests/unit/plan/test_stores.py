from __future__ import annotations

from typing import Any

import pytest

from headrace.config import StreamsConfig
from headrace.errors import ArgumentError, OperatorTypeError
from headrace.plan.materialized import Materialized
from headrace.plan.stores import (
    KeyValueMaterializer,
    Materializer,
    SessionMaterializer,
    SlidingWindowMaterializer,
    WindowMaterializer,
)
from headrace.state import stores
from headrace.windows import EmitStrategy, SessionWindows, SlidingWindows, TimeWindows

UPDATE, CLOSE = EmitStrategy.ON_WINDOW_UPDATE, EmitStrategy.ON_WINDOW_CLOSE


def built(materializer: Materializer, **settings: Any) -> Any:
    config = {"application.id": "app", **{name.replace("_", "."): value for name, value in settings.items()}}
    return materializer.configured(StreamsConfig(config)).build()


def test_a_table_is_kept_in_a_persistent_timestamped_store() -> None:
    store = built(KeyValueMaterializer(Materialized(store_name="S")))
    assert (store.name, str(store.kind), store.persistent) == ("S", "timestamped_kv", True)


def test_the_configuration_chooses_the_kind_of_store() -> None:
    store = built(KeyValueMaterializer(Materialized(store_name="S")), dsl_store_suppliers_class="in_memory")
    assert not store.persistent


def test_the_operator_wins_over_the_configuration() -> None:
    materialized = Materialized(store_name="S", dsl_store=stores.IN_MEMORY)
    assert not built(KeyValueMaterializer(materialized), dsl_store_suppliers_class="rocksDB").persistent


def test_a_supplier_wins_over_everything() -> None:
    materialized = Materialized.of(store=stores.in_memory("mine"))
    assert materialized is not None
    store = built(KeyValueMaterializer(materialized))
    assert (store.name, store.persistent) == ("mine", False)


def test_the_format_setting_adds_headers() -> None:
    store = built(KeyValueMaterializer(Materialized(store_name="S")), dsl_store_format="headers")
    assert str(store.kind) == "timestamped_kv_with_headers"
    windows = WindowMaterializer(Materialized(store_name="S"), TimeWindows(10), UPDATE)
    assert str(built(windows, dsl_store_format="HEADERS").kind) == "timestamped_window_with_headers"
    sessions = SessionMaterializer(Materialized(store_name="S"), SessionWindows(10), UPDATE)
    assert str(built(sessions, dsl_store_format="HEADERS").kind) == "session_with_headers"


def test_a_versioned_supplier_gives_a_versioned_store() -> None:
    materialized = Materialized.of(store=stores.versioned("V", 1000))
    assert materialized is not None
    materializer = KeyValueMaterializer(materialized)
    assert (materializer.is_versioned_store, materializer.history_ms) == (True, 1000)
    assert str(built(materializer).kind) == "versioned"


@pytest.mark.parametrize(
    ("materializer", "retention_ms", "kind"),
    [
        (WindowMaterializer(Materialized("S"), TimeWindows(10, grace=5), UPDATE), 15, "timestamped_window"),
        (SlidingWindowMaterializer(Materialized("S"), SlidingWindows(10, 5), UPDATE), 25, "timestamped_window"),
        (SessionMaterializer(Materialized("S"), SessionWindows(10, 5), UPDATE), 15, "session"),
    ],
)
def test_windows_are_kept_as_long_as_records_may_come(materializer: Materializer, retention_ms: int, kind: str) -> None:
    assert materializer.is_window_store
    assert materializer.retention_ms == retention_ms
    assert str(built(materializer).kind) == kind


def test_a_longer_retention_is_taken_and_a_shorter_refused() -> None:
    kept = WindowMaterializer(Materialized("S", retention_ms=100), TimeWindows(10, grace=5), UPDATE)
    assert kept.retention_ms == 100
    short = Materialized("S", retention_ms=14)
    with pytest.raises(ArgumentError, match="window size plus the grace period"):
        WindowMaterializer(short, TimeWindows(10, grace=5), UPDATE)
    with pytest.raises(ArgumentError, match="twice the time difference"):
        SlidingWindowMaterializer(short, SlidingWindows(5, 5), UPDATE)
    with pytest.raises(ArgumentError, match="inactivity gap"):
        SessionMaterializer(short, SessionWindows(10, 5), UPDATE)


def test_two_operators_may_share_a_store_but_not_just_its_name() -> None:
    materialized = Materialized("S")
    assert KeyValueMaterializer(materialized).is_compatible_with(KeyValueMaterializer(materialized))
    assert not KeyValueMaterializer(materialized).is_compatible_with(KeyValueMaterializer(Materialized("S")))


def test_logging_can_be_switched_off_until_the_store_is_built() -> None:
    materializer = KeyValueMaterializer(Materialized("S", log_config={"a": "b"}))
    assert materializer.logging_enabled and materializer.log_config == {"a": "b"}
    materializer.with_logging_disabled()
    assert not materializer.logging_enabled and materializer.log_config == {}


def test_refuses_a_supplier_of_another_kind_of_store() -> None:
    sessions = Materialized.of(store=stores.persistent_session("S", 1000))
    rows = Materialized.of(store=stores.in_memory("R"))
    assert sessions is not None and rows is not None
    with pytest.raises(OperatorTypeError, match="'S' is a session store, but this table is kept in a key-value store"):
        KeyValueMaterializer(sessions)
    with pytest.raises(OperatorTypeError, match="kept in a window store"):
        WindowMaterializer(sessions, TimeWindows(10), UPDATE)
    with pytest.raises(OperatorTypeError, match="kept in a session store"):
        SessionMaterializer(rows, SessionWindows(10), UPDATE)


def test_a_kind_of_store_can_be_given_together_with_a_name() -> None:
    materialized = Materialized.of(store=stores.IN_MEMORY("counts"))
    assert materialized is not None
    store = built(KeyValueMaterializer(materialized))
    assert (store.name, store.persistent) == ("counts", False)


def test_final_results_need_no_cache_where_windows_slide_or_are_sessions() -> None:
    cached = built(SlidingWindowMaterializer(Materialized("S"), SlidingWindows(10), UPDATE))
    assert cached.set_flush_listener(print, False)
    final = built(SlidingWindowMaterializer(Materialized("S"), SlidingWindows(10), CLOSE))
    assert not final.set_flush_listener(print, False)
    sessions = built(SessionMaterializer(Materialized("S"), SessionWindows(10), CLOSE))
    assert not sessions.set_flush_listener(print, False)
