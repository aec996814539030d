"""Key-value stores: in memory, in RocksDB, and the one that keeps the entries used last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import serde
from headrace.errors import ArgumentError, IllegalStateError, OperatorTypeError, StateDirectoryError, StoreError
from headrace.records import NO_HEADERS, ValueAndTimestamp
from headrace.state import stores
from headrace.state.rocksdb.failures import explained
from tests.unit.state.fake_context import FakeContext


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


@pytest.fixture(params=["memory", "rocksdb", "cached", "lru"])
def store(request: pytest.FixtureRequest, context: FakeContext) -> Iterator[Any]:
    suppliers: dict[str, Any] = {"rocksdb": stores.persistent("s"), "lru": stores.lru("s", 100)}
    supplier = suppliers.get(request.param, stores.in_memory("s"))
    builder = stores.key_value(supplier, serde.string(), serde.long())
    if request.param == "cached":
        builder.with_caching_enabled()
    store = builder.build()
    store.init(context)
    yield store
    store.close()


def test_gives_back_what_was_put_until_it_is_deleted(store: Any) -> None:
    store.put("a", 1)
    assert store.get("a") == 1
    assert store.put_if_absent("a", 2) == 1
    assert store.delete("a") == 1
    assert store.get("a") is None
    assert store.put_if_absent("a", 2) is None
    store.put("a", None)
    assert store.get("a") is None


def test_ranges_hold_both_ends_and_may_be_open(store: Any) -> None:
    store.put_all([(key, index) for index, key in enumerate("abcd")])

    assert [key for key, _ in store.range("b", "c")] == ["b", "c"]
    assert [key for key, _ in store.range(None, "b")] == ["a", "b"]
    assert [key for key, _ in store.reverse_range("b", None)] == ["d", "c", "b"]
    assert [key for key, _ in store.range("c", "b")] == []
    assert list(store.all()) == [("a", 0), ("b", 1), ("c", 2), ("d", 3)]
    assert [key for key, _ in store.reverse_all()] == ["d", "c", "b", "a"]


def test_a_prefix_is_one_of_bytes(store: Any) -> None:
    store.put_all([("b", 0), ("ba", 1), ("bab", 2), ("bb", 3), ("c", 4)])

    assert [key for key, _ in store.prefix_scan("ba", serde.string())] == ["ba", "bab"]


def test_refuses_none_as_key(store: Any) -> None:
    with pytest.raises(OperatorTypeError, match="cannot be None"):
        store.put(None, 1)
    with pytest.raises(OperatorTypeError):
        store.get(None)
    with pytest.raises(OperatorTypeError):
        store.put_all([("a", 1), (None, 2)])
    assert store.get("a") is None


def test_an_iterator_can_be_peeked_and_not_used_after_close(store: Any) -> None:
    store.put("a", 1)
    with store.all() as entries:
        assert entries.peek_next_key() == "a"
        assert next(entries) == ("a", 1)
        assert not entries.has_next
    with pytest.raises(IllegalStateError):
        next(entries)


def test_a_changelog_restores_the_store(store: Any, context: FakeContext, tmp_path: Path) -> None:
    store.put("a", 1)
    store.put("b", 2)
    store.delete("a")
    store.flush()

    other_context = FakeContext(tmp_path / "other")
    other = stores.key_value(stores.persistent("s"), serde.string(), serde.long()).build()
    other.init(other_context)
    assert other_context.restore is not None
    for logged in context.changelog:
        other_context.restore(logged.key, logged.value, logged.timestamp or 0, logged.headers)

    assert list(other.all()) == [("b", 2)]
    assert other_context.changelog == []
    other.close()


def test_in_memory_iterators_show_values_of_the_moment_and_rocksdb_those_of_its_beginning(
    context: FakeContext,
) -> None:
    seen: dict[str, list[Any]] = {}
    for supplier in (stores.in_memory("m"), stores.persistent("r")):
        store = stores.key_value(supplier, serde.string(), serde.long()).build()
        store.init(context)
        store.put_all([("a", 1), ("b", 1), ("c", 1)])
        seen[supplier.name] = []
        for entry in store.all():
            seen[supplier.name].append(entry)
            store.put("b", 2)
            store.delete("c")
        store.close()

    assert seen["m"] == [("a", 1), ("b", 2)]
    assert seen["r"] == [("a", 1), ("b", 1), ("c", 1)]


def test_a_rocksdb_store_keeps_its_entries_when_it_is_opened_again(context: FakeContext) -> None:
    builder = stores.key_value(stores.persistent("s"), serde.string(), serde.long())
    first = builder.build()
    first.init(context)
    first.put("a", 1)
    left_open = first.all()
    assert left_open.has_next
    first.close()

    second = builder.build()
    second.init(context)
    assert second.get("a") == 1
    second.close()


def test_a_closed_rocksdb_store_says_so(context: FakeContext) -> None:
    store = stores.key_value(stores.persistent("s"), serde.string(), serde.long()).build()
    store.init(context)
    store.close()

    assert not store.is_open
    with pytest.raises(StoreError, match="store s is closed"):
        store.get("a")


def test_a_name_that_is_no_file_name_never_becomes_a_path(context: FakeContext) -> None:
    store = stores.key_value(stores.persistent("../outside"), serde.string(), serde.long()).build()
    with pytest.raises(ArgumentError, match=r"cannot be called '\.\./outside'"):
        store.init(context)


def test_an_lru_store_evicts_what_was_unused_for_longest_and_logs_a_tombstone(context: FakeContext) -> None:
    store = stores.key_value(stores.lru("s", 2), serde.string(), serde.long()).build()
    store.init(context)
    store.put("a", 1)
    store.put("b", 2)
    store.get("a")
    context.changelog.clear()

    context.at(7)
    store.put("c", 3)

    assert [key for key, _ in store.all()] == ["a", "c"]
    # The eviction happens inside the put, so its tombstone comes first.
    assert [(logged.key, logged.value is None, logged.timestamp) for logged in context.changelog] == [
        (b"b", True, 7),
        (b"c", False, 7),
    ]


def test_restoring_an_lru_store_logs_no_evictions(context: FakeContext) -> None:
    store = stores.key_value(stores.lru("s", 1), serde.string(), serde.long()).build()
    store.init(context)
    assert context.restore is not None
    for key in (b"a", b"b"):
        context.restore(key, b"\0" * 8, 0, NO_HEADERS)

    assert [key for key, _ in store.all()] == ["b"]
    assert context.changelog == []


def test_a_timestamped_store_logs_the_bare_value_at_its_own_time(context: FakeContext) -> None:
    store = stores.timestamped_key_value(stores.persistent_timestamped("s"), serde.string(), serde.string()).build()
    store.init(context)
    context.at(50)
    store.put("a", ValueAndTimestamp("x", 3))
    store.delete("a")

    assert [(logged.value, logged.timestamp) for logged in context.changelog] == [(b"x", 3), (None, 50)]
    store.close()


def test_a_plain_persistent_store_under_a_timestamped_one_forgets_the_time(context: FakeContext) -> None:
    store = stores.timestamped_key_value(stores.persistent("s"), serde.string(), serde.string()).build()
    store.init(context)
    store.put("a", ValueAndTimestamp("x", 3))

    assert store.get("a") == ValueAndTimestamp("x", -1)
    assert context.changelog[0].timestamp == 3
    store.close()


def test_a_timestamped_store_in_memory_keeps_the_time_and_is_restored_with_it(context: FakeContext) -> None:
    store = stores.timestamped_key_value(stores.in_memory("s"), serde.string(), serde.string()).build()
    store.init(context)
    assert context.restore is not None
    context.restore(b"a", b"x", 9, NO_HEADERS)

    assert store.get("a") == ValueAndTimestamp("x", 9)


def test_the_user_may_tune_rocksdb(tmp_path: Path) -> None:
    tuned = []
    context = FakeContext(tmp_path)
    context.config = type(context.config)(
        {"application.id": "app", "rocksdb.config.setter": lambda name, options, config: tuned.append(name)}
    )
    store = stores.key_value(stores.persistent("s"), serde.string(), serde.long()).build()
    store.init(context)
    store.close()

    assert tuned == ["s"]


def test_too_many_open_files_are_no_failure_of_the_disk(tmp_path: Path) -> None:
    told = r"too many files are open: .*\n.*\n  hint: .*ulimit -n"
    with pytest.raises(StateDirectoryError, match=told), explained(tmp_path):
        raise OSError("Too many open files (os error 24)")
