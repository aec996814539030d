"""Traps of tables and their aggregations (16 to 22, 58)."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import StreamsBuilder, errors, serdes, stores
from headrace.serde.change import ChangeSerde
from tests.traps.scene import scene, watch


def test_trap_16_the_first_aggregate_travels_with_the_initial_value_as_the_old_one() -> None:
    asked: list[tuple[str, int]] = []
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key().count(caching=False)

    def group(key: str, count: int) -> tuple[str, int]:
        asked.append((key, count))
        return "all", count

    subtracted: list[int] = []

    def subtract(key: str, count: int, total: int) -> int:
        subtracted.append(count)
        return total - count

    sums = counts.group_by(group, value_serde=serdes.long()).aggregate(
        lambda: 0, lambda key, count, total: total + count, subtract, value_serde=serdes.long()
    )
    seen = watch(sums)

    with scene(builder) as s:
        s.pipe("in", "a", "", at=0)
        assert ("a", 0) in asked  # a count of 0 that never was a row
        assert subtracted == []  # but there was no aggregate yet to subtract it from
        s.pipe("in", "b", "", at=1)
        assert subtracted == [0]  # now there is

    assert [total for _, total, _ in seen][-1] == 2


def test_trap_17_a_row_that_changes_its_group_is_subtracted_first_and_added_in_another_record() -> None:
    builder = StreamsBuilder()
    grouped = builder.table("in").group_by(lambda key, group: (group, key))
    grouped.count(store="sizes")

    with scene(builder) as s:
        s.pipe("in", "row", "x", at=0)
        s.pipe("in", "row", "y", at=1)
        moves = s.read("app-sizes-repartition", value_serde=ChangeSerde(serdes.string()))

        assert [(key, change.old, change.new) for key, change, _ in moves] == [
            ("x", None, "row"),
            ("x", "row", None),  # whoever reads between these two sees the row in no group
            ("y", None, "row"),
        ]


def test_trap_18_nothing_is_subtracted_from_an_aggregate_that_is_not_there() -> None:
    builder = StreamsBuilder()
    calls: list[str] = []

    def add(key: str, value: str, total: str) -> str:
        calls.append(f"add {value} to {total}")
        return total + value

    def subtract(key: str, value: str, total: str) -> str | None:
        calls.append(f"subtract {value} from {total}")
        return None

    builder.table("in").group_by(lambda key, value: ("all", value)).aggregate(lambda: ">", add, subtract, store="sum")

    with scene(builder) as s:
        s.pipe("in", "a", "1", at=0)
        s.pipe("in", "a", "2", at=1)  # subtracting gives None, so adding starts from the initial value
        assert calls == ["add 1 to >", "subtract 1 from >1", "add 2 to >"]
        s.pipe("in", "b", "3", at=2)
        s.pipe("in", "a", None, at=3)  # subtracting gives None: the aggregate is gone
        calls.clear()
        s.pipe("in", "b", None, at=4)
        assert calls == []


def test_trap_19_a_serde_alone_keeps_no_store_but_uses_up_a_number() -> None:
    def names(**keywords: Any) -> list[str]:
        builder = StreamsBuilder()
        builder.table("in", store="in").filter(lambda key, value: True, **keywords).to_stream()
        topology = builder.build()
        assert list(topology.graph.stores) == ["in"]
        return list(topology.graph.nodes)

    assert names()[-1] == "KTABLE-TOSTREAM-0000000003"
    assert names(value_serde=serdes.string())[-1] == "KTABLE-TOSTREAM-0000000004"


def test_trap_19_and_it_switches_off_versioned_semantics() -> None:
    builder = StreamsBuilder()
    table = builder.table("table", store=stores.versioned("rows", 1000))
    stream = builder.stream("in")

    stream.join(table.filter(lambda key, value: True), lambda left, right: left, grace=10)
    with pytest.raises(errors.ArgumentError, match="must be versioned"):
        stream.join(table.filter(lambda key, value: True, key_serde=serdes.string()), lambda a, b: a, grace=10)


def test_trap_20_the_serdes_of_a_table_are_those_of_its_topic_also_in_its_store() -> None:
    # In Java a table takes two pairs of serdes and silently ignores one; here there is only one to give.
    builder = StreamsBuilder()
    builder.table("in", store=stores.in_memory("rows"), value_serde=serdes.long())

    with scene(builder) as s:
        s.pipe("in", "a", 7, at=0, value_serde=serdes.long())

        assert s.driver.changelog("rows")[0][1] == (7).to_bytes(8, "big")


def test_trap_21_an_older_row_replaces_a_newer_one() -> None:
    builder = StreamsBuilder()
    builder.table("in", store="rows")
    builder.table("versions", store=stores.versioned("versions", 1000))

    with scene(builder) as s:
        for topic in ("in", "versions"):
            s.pipe(topic, "a", "new", at=10)
            s.pipe(topic, "a", "old", at=5)

        assert s.driver.key_value_store("rows").get("a") == "old"
        assert s.driver.versioned_key_value_store("versions").get("a").value == "new"


def test_trap_22_an_update_that_changes_nothing_is_forwarded_all_the_same() -> None:
    builder = StreamsBuilder()
    rows = watch(builder.table("in", store="rows"))
    constant = watch(
        builder.stream("events").group_by_key().aggregate(lambda: "same", lambda key, value, total: "same")
    )

    with scene(builder) as s:
        for at in (0, 1):
            s.pipe("in", "a", "1", at=at)
            s.pipe("events", "a", "1", at=at)

    assert rows == [("a", "1", 0), ("a", "1", 1)]
    assert constant == [("a", "same", 0), ("a", "same", 1)]


class Upper:
    """A value transformer that writes down each call."""

    def __init__(self, calls: list[str | None]) -> None:
        self._calls = calls

    def init(self, context: Any) -> None: ...

    def transform(self, key: str, value: str | None) -> str | None:
        self._calls.append(value)
        return None if value is None else value.upper()

    def close(self) -> None: ...


def test_trap_58_a_transformer_runs_twice_per_update_where_old_values_are_wanted() -> None:
    calls: list[str | None] = []
    builder = StreamsBuilder()
    table = builder.table("in", store="rows", caching=False).transform_values(lambda: Upper(calls))
    table.group_by(lambda key, value: (value, value)).count()

    with scene(builder) as s:
        s.pipe("in", "a", "x", at=0)
        calls.clear()
        s.pipe("in", "a", "y", at=1)

        assert sorted(map(str, calls)) == ["x", "y"]


def test_trap_58_and_again_in_each_lookup() -> None:
    calls: list[str | None] = []
    builder = StreamsBuilder()
    table = builder.table("in", store="rows").transform_values(lambda: Upper(calls))
    joined = watch(builder.table("left").join(table, lambda left, right: left + right))

    with scene(builder) as s:
        s.pipe("in", "a", "x", at=0)
        calls.clear()
        for at in (1, 2):
            s.pipe("left", "a", "l", at=at)

    assert calls == ["x", "x"]
    assert [value for _, value, _ in joined] == ["lX", "lX"]
