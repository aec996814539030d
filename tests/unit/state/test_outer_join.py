from __future__ import annotations

from pathlib import Path

import pytest

from headrace import serde as serdes
from headrace.state.outer_join import OuterJoinStore, outer_join_store
from tests.unit.state.fake_context import FakeContext


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


@pytest.fixture(params=[True, False], ids=["in_memory", "rocksdb"])
def store(request: pytest.FixtureRequest, context: FakeContext) -> OuterJoinStore:
    builder = outer_join_store("W", serdes.string(), serdes.string(), serdes.long(), in_memory=request.param)
    store = builder.build()
    store.init(context)
    return store


def test_rows_come_by_time_right_side_first_then_key_then_arrival(store: OuterJoinStore) -> None:
    store.put((9, True, "B"), "x")
    store.put((9, True, "A"), "y")
    store.put((9, True, "A"), "z")
    store.put((9, False, "C"), 1)
    store.put((2, True, "D"), "w")

    assert list(store.all()) == [
        ((2, True, "D"), "w"),
        ((9, False, "C"), 1),
        ((9, True, "A"), "y"),
        ((9, True, "A"), "z"),
        ((9, True, "B"), "x"),
    ]


def test_the_changelog_has_the_whole_list_with_kafkas_bytes(store: OuterJoinStore, context: FakeContext) -> None:
    context.at(7)
    store.put((9, True, "A"), "a")
    store.put((9, True, "A"), "b")
    store.put((9, True, "A"), None)

    key = bytes.fromhex("000000000000000901") + b"A"
    assert [record[:3] for record in context.changelog] == [
        (key, bytes.fromhex("01000000010000000201") + b"a", 7),
        (key, bytes.fromhex("01000000020000000201") + b"a" + bytes.fromhex("0000000201") + b"b", 7),
        (key, None, 7),
    ]


def test_put_if_absent_removes_only_what_is_there(store: OuterJoinStore, context: FakeContext) -> None:
    store.put_if_absent((1, False, "A"), None)
    assert context.changelog == []

    store.put((1, False, "A"), 5)
    store.put_if_absent((1, False, "A"), None)

    assert list(store.all()) == []
    assert len(context.changelog) == 2


def test_entries_may_be_removed_while_they_are_read(store: OuterJoinStore) -> None:
    for timestamp in range(4):
        store.put((timestamp, True, "A"), str(timestamp))
    seen = []

    with store.all() as rows:
        for key, value in rows:
            seen.append(value)
            store.put(key, None)

    assert seen == ["0", "1", "2", "3"]
    assert store.approximate_num_entries() == 0


def test_the_changelog_restores_the_rows(store: OuterJoinStore, context: FakeContext, tmp_path: Path) -> None:
    store.put((3, True, "A"), "a")
    other = FakeContext(tmp_path / "other")
    builder = outer_join_store("W", None, None, serdes.long(), in_memory=True)
    restored = builder.with_logging_disabled().build()
    restored.init(other)

    assert other.restore is not None
    other.restore(context.changelog[0].key, context.changelog[0].value, 0, context.changelog[0].headers)

    assert list(restored.all()) == [((3, True, "A"), "a")]
