"""The stores of stream-stream joins."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.config import StreamsConfig
from headrace.plan.join_stores import JoinWindowStore, StreamJoined, WaitingStore, window_store
from headrace.records import Headers, RecordContext
from headrace.state import stores
from headrace.state.value_codecs import PLAIN, HeadersInChangelog
from headrace.windows import JoinWindows

WINDOWS = JoinWindows(10, grace=5)


def config(**settings: Any) -> StreamsConfig:
    return StreamsConfig({"application.id": "app", **{name.replace("_", "."): v for name, v in settings.items()}})


def window_of(joined: StreamJoined, settings: StreamsConfig) -> Any:
    builder = JoinWindowStore("S", WINDOWS, joined, None)
    return builder.configured(settings).build()


def test_a_window_store_is_kept_for_the_window_and_its_grace_period() -> None:
    builder = JoinWindowStore("S", WINDOWS, StreamJoined(), None)
    assert (builder.size_ms, builder.retention_ms, builder.is_window_store) == (20, 25, True)


def test_duplicates_are_deleted_from_the_changelog_and_never_compacted() -> None:
    joined = StreamJoined(log_config={"cleanup.policy": "compact", "retention.ms": "1"})
    builder = JoinWindowStore("S", WINDOWS, joined, None)
    assert builder.log_config == {"cleanup.policy": "delete", "retention.ms": "1"}
    assert WaitingStore("KSTREAM-JOINTHIS-0000000004", joined, full_outer=False).log_config == joined.log_config


def test_logging_can_be_off() -> None:
    joined = StreamJoined(logging=False)
    assert not JoinWindowStore("S", WINDOWS, joined, None).logging_enabled
    assert not WaitingStore("KSTREAM-JOINTHIS-0000000004", joined, full_outer=False).logging_enabled


@pytest.mark.parametrize(
    ("joined", "settings", "persistent"),
    [
        (StreamJoined(), config(), True),
        (StreamJoined(), config(dsl_store_suppliers_class=stores.IN_MEMORY), False),
        (StreamJoined(topology_store_kind=stores.IN_MEMORY), config(), False),
        (StreamJoined(store_kind=stores.ROCKSDB, topology_store_kind=stores.IN_MEMORY), config(), True),
    ],
)
def test_the_join_decides_where_it_is_kept_then_the_topology_then_the_configuration(
    joined: StreamJoined, settings: StreamsConfig, persistent: bool
) -> None:
    assert window_of(joined, settings).persistent is persistent
    waiting = WaitingStore("KSTREAM-JOINTHIS-0000000004", joined, full_outer=False)
    assert waiting.configured(settings).build().persistent is persistent


def test_waiting_records_are_kept_as_the_first_supplier_keeps_its_own() -> None:
    joined = StreamJoined(this_store=stores.in_memory_window("mine", 25, 20, True))
    waiting = WaitingStore("KSTREAM-OUTERTHIS-0000000004", joined, full_outer=True)
    assert (waiting.name, waiting.configured(config()).build().persistent) == ("mine-outer-shared-join-store", False)


def test_values_are_plain_unless_the_format_keeps_headers() -> None:
    assert str(window_of(StreamJoined(), config()).kind) == "window"
    with_headers = window_of(StreamJoined(), config(dsl_store_format="HEADERS"))
    assert str(with_headers.kind) == "timestamped_window_with_headers"


def test_a_store_of_the_users_keeps_its_name_and_its_compaction() -> None:
    supplier = stores.in_memory_window("mine", 25, 20, True)
    builder = window_store("generated", WINDOWS, StreamJoined(logging=False), supplier, None)
    assert (builder.name, builder.logging_enabled, builder.log_config) == ("mine", True, {})


def test_changelog_records_have_the_headers_of_the_current_record() -> None:
    headers = Headers([("h", b"1")])
    codec = HeadersInChangelog(PLAIN)
    written: list[Any] = []
    write = codec.change_writer(lambda *record: written.append(record), RecordContext(7, 0, 0, "in", headers))
    write(b"k", b"x")
    write(b"k", None)
    assert written == [(b"k", b"x", 7, headers), (b"k", None, 7, headers)]
