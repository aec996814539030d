"""A store is what its changelog says: replayed into an empty store, it gives the same store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import Processor, StreamsBuilder, Topology, TopologyTestDriver, ValueAndTimestamp, serdes, stores
from headrace.windows import MAX_TIMESTAMP, SessionWindow, Windowed
from tests.property.harness import Input, Program
from tests.property.test_commits_and_caches import EVERY_PROGRAM, inputs, of

CONFIG = {"application.id": "app"}
KEYS = st.sampled_from(["a", "aa", "b", "c"])
VALUES = st.none() | st.integers(0, 9)
# Far enough apart for windows to expire and for segments to go.
TIMES = st.sampled_from([0, 1, 7, 50, 60_000, 119_999, 200_000, 400_000])
RETENTION = 100_000

Write = tuple[Any, ...]
Apply = Callable[[Any, Write], None]


def put(store: Any, write: Write) -> None:
    store.put(*write)


def put_with_time(store: Any, write: Write) -> None:
    key, value, timestamp = write
    store.put(key, ValueAndTimestamp.make(value, timestamp))


def put_window_with_time(store: Any, write: Write) -> None:
    key, value, start = write
    store.put(key, ValueAndTimestamp.make(value, start + 1), start)


def put_session(store: Any, write: Write) -> None:
    key, value, start, length = write
    store.put(Windowed(key, SessionWindow(start, start + length)), value)


KEYED = st.tuples(KEYS, VALUES)
TIMED = st.tuples(KEYS, VALUES, TIMES)
# A put of None among duplicates does nothing to the store, but as in Kafka it is logged and moves a replay's time on.
PRESENT = st.tuples(KEYS, st.integers(0, 9), TIMES)
SESSIONS = st.tuples(KEYS, VALUES, TIMES, st.integers(0, 9))
TEXT, LONG = serdes.string(), serdes.long()

KINDS: dict[str, tuple[Callable[[], Any], Apply, st.SearchStrategy[Any]]] = {
    "key-value": (lambda: stores.key_value(stores.in_memory("s"), TEXT, LONG), put, KEYED),
    "key-value, RocksDB": (lambda: stores.key_value(stores.persistent("s"), TEXT, LONG), put, KEYED),
    "least recently used": (lambda: stores.key_value(stores.lru("s", 2), TEXT, LONG), put, KEYED),
    "timestamped": (lambda: stores.timestamped_key_value(stores.in_memory("s"), TEXT, LONG), put_with_time, TIMED),
    "timestamped, RocksDB": (
        lambda: stores.timestamped_key_value(stores.persistent_timestamped("s"), TEXT, LONG),
        put_with_time,
        TIMED,
    ),
    "window": (lambda: stores.window(stores.in_memory_window("s", RETENTION, 10), TEXT, LONG), put, TIMED),
    "window, RocksDB": (lambda: stores.window(stores.persistent_window("s", RETENTION, 10), TEXT, LONG), put, TIMED),
    "window with duplicates": (
        lambda: stores.window(stores.in_memory_window("s", RETENTION, 10, True), TEXT, LONG),
        put,
        PRESENT,
    ),
    "window with duplicates, RocksDB": (
        lambda: stores.window(stores.persistent_window("s", RETENTION, 10, True), TEXT, LONG),
        put,
        PRESENT,
    ),
    "timestamped window": (
        lambda: stores.timestamped_window(stores.in_memory_window("s", RETENTION, 10), TEXT, LONG),
        put_window_with_time,
        TIMED,
    ),
    "timestamped window, RocksDB": (
        lambda: stores.timestamped_window(stores.persistent_timestamped_window("s", RETENTION, 10), TEXT, LONG),
        put_window_with_time,
        TIMED,
    ),
    "session": (lambda: stores.session(stores.in_memory_session("s", RETENTION), TEXT, LONG), put_session, SESSIONS),
    "session, RocksDB": (
        lambda: stores.session(stores.persistent_session("s", RETENTION), TEXT, LONG),
        put_session,
        SESSIONS,
    ),
    "versioned": (lambda: stores.versioned_key_value(stores.versioned("s", RETENTION), TEXT, LONG), put, TIMED),
}


def topology(builder: Any, apply: Apply) -> Topology:
    """Each record is a write."""

    class Writer(Processor):
        def init(self, context: Any) -> None:
            self.store = context.store("s")

        def process(self, record: Any) -> None:
            apply(self.store, record.value)

    source = Topology().add_source("source", ["writes"], value_serde=serdes.json())
    return source.add_processor("writer", Writer, parents="source").add_state_store(builder, "writer")


def contents(store: Any) -> list[Any]:
    """Everything in a store, in its own order."""
    if store.kind.shape == "versioned":
        return [list(store.versions(key, 0, MAX_TIMESTAMP, descending=False)) for key in ("a", "aa", "b", "c")]
    if store.kind.shape == "session":
        return list(store.fetch_keys(None, None))
    return list(store.all())


def flushed(store: Any) -> Any:
    """The store beneath its cache, which may show windows that have expired since."""
    return store.uncached() if hasattr(store, "uncached") else store


@pytest.mark.parametrize(
    ("kind", "caching"),
    [*((kind, False) for kind in KINDS), *((kind, True) for kind in KINDS if kind != "versioned")],
)
@settings(max_examples=15)
@given(data=st.data())
def test_a_store_is_the_replay_of_its_changelog(kind: str, caching: bool, data: st.DataObject) -> None:
    make, apply, writes = KINDS[kind]

    def driver() -> TopologyTestDriver:
        builder = make()
        if caching:
            builder.with_caching_enabled()
        return TopologyTestDriver(topology(builder, apply), CONFIG)

    with driver() as before, driver() as after:
        written = before.create_input_topic("writes", value_serde=serdes.json())
        for timestamp, write in enumerate(data.draw(st.lists(writes, max_size=12))):
            written.pipe_input(None, write, timestamp)
        after.restore("s", before.changelog("s"))

        assert contents(after.store("s")) == contents(flushed(before.store("s")))


@EVERY_PROGRAM
@settings(max_examples=20)
@given(records=inputs())
def test_every_table_of_a_program_is_the_replay_of_its_changelog(program: Program, records: list[Input]) -> None:
    def driver() -> TopologyTestDriver:
        builder = StreamsBuilder()
        program(builder)
        return TopologyTestDriver(builder.build(), {**CONFIG, "dsl.store.suppliers.class": "in_memory"})

    with driver() as before, driver() as after:
        for topic, key, value, timestamp in of(program, records):
            before.create_input_topic(topic).pipe_input(key, value, timestamp)
        for name, store in before.stores().items():
            after.restore(name, before.changelog(name))

            assert contents(flushed(after.store(name))) == contents(flushed(store))
