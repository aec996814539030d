from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace import serde as serdes
from headrace.records import NO_HEADERS, Headers, RecordContext, ValueAndTimestamp
from headrace.serde.bytes_keys import session_key, window_store_key
from headrace.state.bytes_stores import BytesKeyValueStore, BytesTimedStore
from headrace.state.layers.adapters import for_headers, session_for_headers
from headrace.state.memory.kv import InMemoryKeyValueStore
from headrace.state.suppliers import TimeOrderedSessionSupplier, TimeOrderedWindowSupplier
from headrace.state.value_codecs import (
    HEADERS,
    SESSION_HEADERS,
    ValueCodec,
    dump_headers,
    load_headers,
    split_headers,
)
from tests.unit.state.fake_context import FakeContext

WINDOW, SESSION = window_store_key(b"k", 10), session_key(b"k", 1, 2)
SOME = Headers([("a", b"1"), ("n", None), ("ü", b"")])


def test_headers_have_kafkas_bytes() -> None:
    assert dump_headers(NO_HEADERS) == b"\0"
    assert dump_headers(Headers([("a", b"12"), ("n", None)])) == bytes.fromhex("12040261043132026e01")


@pytest.mark.parametrize("headers", [NO_HEADERS, SOME, Headers([("long", b"x" * 300)])])
def test_headers_survive_the_way_through_bytes(headers: Headers) -> None:
    body, rest = split_headers(dump_headers(headers) + b"rest")

    assert load_headers(body) == headers
    assert rest == b"rest"


def logged(codec: ValueCodec, stored: bytes | None, current: RecordContext) -> Any:
    """Value, timestamp and headers of the changelog record."""
    written: list[Any] = []
    codec.change_writer(lambda *record: written.append(record), current)(b"k", stored)
    return written[0][1:]


def test_a_value_is_stored_after_headers_and_time_and_logged_bare() -> None:
    dumps, loads = HEADERS.bind(serdes.string(), "t")
    value = ValueAndTimestamp("v", 5, SOME)

    stored = dumps(value)

    assert stored is not None
    assert stored == dump_headers(SOME) + bytes(7) + b"\x05v"
    assert loads(stored) == value
    assert logged(HEADERS, stored, RecordContext(9, 0, 0, "in")) == (b"v", 5, SOME)
    assert HEADERS.from_changelog(b"v", 5, SOME) == stored


def test_a_tombstone_is_logged_with_the_current_records_time_and_headers() -> None:
    current = RecordContext(9, 0, 0, "in", SOME)

    assert logged(HEADERS, None, current) == (None, 9, SOME)
    assert logged(SESSION_HEADERS, None, current) == (None, 9, SOME)


def test_session_aggregates_have_empty_headers_in_front() -> None:
    dumps, loads = SESSION_HEADERS.bind(serdes.string(), "t")

    assert dumps("v") == b"\0v"
    assert loads(b"\0v") == "v"
    assert logged(SESSION_HEADERS, b"\0v", RecordContext(9, 0, 0, "in", SOME)) == (b"v", 9, NO_HEADERS)


def test_a_store_in_memory_keeps_headers_as_they_are() -> None:
    store: BytesKeyValueStore = InMemoryKeyValueStore("S")

    assert for_headers(store, has_headers=False, is_timestamped=False) is store
    assert store.codec is HEADERS


def test_a_persistent_store_without_headers_loses_them(tmp_path: Path) -> None:
    beneath: BytesTimedStore = TimeOrderedWindowSupplier("W", 120_000, 10).get()
    store = for_headers(beneath, has_headers=False, is_timestamped=True)
    store.init(FakeContext(tmp_path))
    time = bytes(7) + b"\x05"

    store.put(WINDOW, dump_headers(SOME) + time + b"v")

    assert beneath.get(WINDOW) == time + b"v"
    assert store.get(WINDOW) == b"\0" + time + b"v"
    assert list(store.fetch_all(0, 10)) == [(WINDOW, b"\0" + time + b"v")]


def test_a_plain_persistent_store_loses_the_time_too(tmp_path: Path) -> None:
    beneath: BytesTimedStore = TimeOrderedWindowSupplier("W", 120_000, 10).get()
    store = for_headers(beneath, has_headers=False, is_timestamped=False)
    store.init(FakeContext(tmp_path))

    store.put(WINDOW, dump_headers(SOME) + bytes(8) + b"v")

    assert beneath.get(WINDOW) == b"v"
    assert store.get(WINDOW) == b"\0" + b"\xff" * 8 + b"v"


def test_a_persistent_session_store_without_headers_loses_them(tmp_path: Path) -> None:
    beneath = TimeOrderedSessionSupplier("S", 120_000).get()
    store = session_for_headers(beneath, has_headers=False)
    store.init(FakeContext(tmp_path))

    store.put(SESSION, b"\0v")

    assert beneath.get(SESSION) == b"v"
    assert list(store.fetch_all(0, 10)) == [(SESSION, b"\0v")]
