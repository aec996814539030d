"""Traps of joins (8 to 12, 23 to 29, 31)."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import JoinWindows, StreamsBuilder, serdes
from headrace.records import Headers
from tests.traps.scene import Seen, scene, watch


def pair(left: Any, right: Any) -> str:
    return f"{left}+{right}"


def outer_join(windows: JoinWindows, headers: list[Headers] | None = None) -> tuple[StreamsBuilder, list[Seen]]:
    builder = StreamsBuilder()
    joined = builder.stream("left").outer_join(builder.stream("right"), pair, windows)
    return builder, watch(joined, headers)


def test_trap_08_unmatched_records_leave_only_with_a_record_that_is_the_newest_so_far() -> None:
    builder, joined = outer_join(JoinWindows(10))

    with scene(builder) as s:
        s.pipe("left", "a", "1", at=0)
        s.pipe("left", "b", "2", at=11)  # 0 + 10 < 11: the first leaves
        assert joined == [("a", "1+None", 0)]
        s.pipe("left", "c", "3", at=5)  # 5 + 10 >= 11: waits, too
        s.pipe("right", "d", "4", at=10)  # older than stream time: looks at nothing
        assert joined == [("a", "1+None", 0)]
        s.pipe("right", "e", "5", at=16)
        assert joined == [("a", "1+None", 0), ("c", "3+None", 5)]


def test_trap_08_they_leave_before_the_records_own_results_and_with_its_headers() -> None:
    headers: list[Headers] = []
    builder, joined = outer_join(JoinWindows(10), headers)

    with scene(builder) as s:
        s.pipe("left", "a", "1", at=0, headers=[("of", b"a")])
        s.pipe("left", "b", "2", at=9, headers=[("of", b"b")])
        s.pipe("right", "b", "3", at=19, headers=[("of", b"b's partner")])

    assert joined == [("a", "1+None", 0), ("b", "2+3", 19)]
    assert headers == [[("of", b"b's partner")]] * 2


def test_trap_09_an_unmatched_record_whose_window_has_passed_goes_at_once_and_may_join_later() -> None:
    builder, joined = outer_join(JoinWindows(10, grace=100))

    with scene(builder) as s:
        s.pipe("right", "clock", "", at=50)
        s.pipe("left", "a", "1", at=0)  # 0 + 10 < 50: nothing waits, although grace runs to 110
        assert joined == [("a", "1+None", 0)]
        s.pipe("right", "a", "2", at=5)  # in grace: a second result
        assert joined == [("a", "1+None", 0), ("a", "1+2", 5)]


def test_trap_10_records_that_waited_before_a_restart_leave_after_it() -> None:
    builder, _ = outer_join(JoinWindows(10))
    with scene(builder) as s:
        s.pipe("left", "a", "1", at=0)
        changelogs = {name: s.driver.changelog(name) for name in s.driver.stores()}
    assert sum(map(len, changelogs.values())) == 2  # the window store and the store of those who wait

    builder, joined = outer_join(JoinWindows(10))
    with scene(builder) as s:
        for store, entries in changelogs.items():
            s.driver.restore(store, entries)
        s.pipe("right", "clock", "", at=100)

    assert joined == [("a", "1+None", 0)]


def test_trap_11_a_join_of_streams_rejects_no_late_record() -> None:
    builder = StreamsBuilder()
    joined = watch(builder.stream("left").join(builder.stream("right"), pair, JoinWindows(10)))

    with scene(builder) as s:
        s.pipe("right", "clock", "", at=3_600_000)
        s.pipe("left", "a", "1", at=0)  # an hour late, no grace; the left store has seen nothing newer
        s.pipe("right", "a", "2", at=5)

        assert joined == [("a", "1+2", 5)]


def test_trap_11_only_the_retention_of_its_stores_limits_what_can_match() -> None:
    builder = StreamsBuilder()
    joined = watch(builder.stream("left").join(builder.stream("right"), pair, JoinWindows(10)))

    with scene(builder) as s:
        s.pipe("left", "a", "1", at=0)
        s.pipe("left", "clock", "", at=3_600_000)  # the left store now forgets what is an hour old
        s.pipe("right", "a", "2", at=5)

        assert joined == []


@pytest.mark.parametrize("optimization", ["none", "all"])
def test_trap_12_a_stream_joined_with_itself_sees_each_pair_from_both_sides(optimization: str) -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in")
    joined = watch(stream.join(stream, pair, JoinWindows(10)))

    with scene(builder.build({"topology.optimization": optimization})) as s:
        s.pipe("in", "a", "1", at=0)
        assert joined == [("a", "1+1", 0)]
        s.pipe("in", "a", "2", at=1)

    assert sorted(joined) == [("a", "1+1", 0), ("a", "1+2", 1), ("a", "2+1", 1), ("a", "2+2", 1)]


def test_trap_23_an_inner_join_of_tables_forwards_tombstones_for_rows_that_never_were() -> None:
    builder = StreamsBuilder()
    # A cache would swallow the tombstone of a row that never was.
    joined = watch(builder.table("left", caching=False).join(builder.table("right"), pair))

    with scene(builder) as s:
        s.pipe("left", "a", None, at=0)
        assert joined == []  # with no right row there is nothing to take back ...
        s.pipe("right", "a", "1", at=1)
        s.pipe("left", "a", None, at=2)
        assert joined == [("a", None, 2)]  # ... with one there is, although nothing ever joined


@pytest.mark.parametrize(("store", "tombstones"), [(None, [("a", None, 0)]), ("rows", [])])
def test_trap_23_a_filter_forwards_such_tombstones_unless_the_table_above_is_kept(
    store: str | None, tombstones: list[Seen]
) -> None:
    builder = StreamsBuilder()
    rows = watch(builder.table("in", store=store).filter(lambda key, value: value == "yes"))

    with scene(builder) as s:
        s.pipe("in", "a", "no", at=0)

    assert rows == tombstones


def foreign_key_join(*, left: bool) -> tuple[StreamsBuilder, list[Seen]]:
    """Orders ``customer:what`` joined with customers; an order of ``-`` has no customer."""
    builder = StreamsBuilder()
    orders, customers = builder.table("orders"), builder.table("customers")

    def customer_of(order: str) -> str | None:
        customer = order.partition(":")[0]
        return None if customer == "-" else customer

    join = orders.left_join if left else orders.join
    return builder, watch(join(customers, pair, foreign_key=customer_of))


def test_trap_24_in_an_inner_join_a_foreign_key_that_becomes_null_deletes_the_result() -> None:
    builder, joined = foreign_key_join(left=False)

    with scene(builder) as s:
        s.pipe("customers", "ann", "Ann", at=0)
        s.pipe("orders", "1", "ann:tea", at=1)
        s.pipe("orders", "1", "-:tea", at=2)
        assert joined == [("1", "ann:tea+Ann", 1), ("1", None, 2)]
        assert sum(s.dropped.values()) == 1


def test_trap_24_one_that_becomes_valid_joins() -> None:
    builder, joined = foreign_key_join(left=False)

    with scene(builder) as s:
        s.pipe("customers", "ann", "Ann", at=0)
        s.pipe("orders", "1", "-:tea", at=1)
        assert joined == []
        s.pipe("orders", "1", "ann:tea", at=2)
        assert joined == [("1", "ann:tea+Ann", 2)]


def test_trap_25_in_a_left_join_a_changed_foreign_key_gives_one_result_and_a_delete_one_tombstone() -> None:
    builder, joined = foreign_key_join(left=True)

    with scene(builder) as s:
        s.pipe("customers", "ann", "Ann", at=0)
        s.pipe("orders", "1", "ann:tea", at=1)
        s.pipe("orders", "1", "bob:tea", at=2)
        s.pipe("orders", "1", None, at=3)

    assert joined == [("1", "ann:tea+Ann", 1), ("1", "bob:tea+None", 2), ("1", None, 3)]


def test_trap_26_a_response_to_an_older_left_value_is_dropped_and_counted() -> None:
    builder = StreamsBuilder()
    # Both versions of the order are written before the first response comes back.
    orders = builder.stream("orders").flat_map_values(lambda versions: versions.split()).to_table(caching=False)
    joined = watch(orders.join(builder.table("customers"), pair, foreign_key=lambda order: order.partition(":")[0]))

    with scene(builder) as s:
        s.pipe("customers", "ann", "Ann", at=0)
        s.pipe("orders", "1", "ann:tea ann:cake", at=1)

        assert joined == [("1", "ann:cake+Ann", 1)]
        assert sum(s.dropped.values()) == 1


def test_trap_26_an_update_of_the_right_side_gives_its_own_time_to_the_result() -> None:
    builder, joined = foreign_key_join(left=False)

    with scene(builder) as s:
        s.pipe("customers", "ann", "Ann", at=0)
        s.pipe("orders", "1", "ann:tea", at=500)
        s.pipe("customers", "ann", "Anna", at=100)

    assert joined == [("1", "ann:tea+Ann", 500), ("1", "ann:tea+Anna", 100)]


_SUBSCRIPTIONS = "app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic"


class Folded:
    """A serde to which upper and lower case are the same; it remembers what it was given."""

    def __init__(self) -> None:
        self.written: list[str | None] = []

    def serialize(self, topic: str, value: str | None) -> bytes | None:
        self.written.append(value)
        return None if value is None else value.lower().encode()

    def deserialize(self, topic: str, data: bytes | None) -> str | None:
        return None if data is None else data.decode()


def test_trap_27_foreign_keys_are_compared_as_bytes_and_their_serde_meets_none() -> None:
    serde = Folded()
    builder = StreamsBuilder()
    orders = builder.table("orders", key_serde=serdes.string())
    customers = builder.table("customers", key_serde=serde)
    joined = watch(orders.left_join(customers, pair, foreign_key=lambda order: order.partition(":")[0] or None))

    with scene(builder) as s:
        s.pipe("customers", "ann", "Ann", at=0)
        s.pipe("orders", "1", "ann:tea", at=1)
        s.pipe("orders", "1", "ANN:cake", at=2)  # the same key to the serde: no unsubscribing
        assert [record.topic for record in s.driver.produced].count(_SUBSCRIPTIONS) == 2
        assert joined == [("1", "ann:tea+Ann", 1), ("1", "ANN:cake+Ann", 2)]
        s.pipe("orders", "1", ":nothing", at=3)
        assert None in serde.written


def test_trap_28_a_left_join_with_a_global_table_keeps_records_whose_mapped_key_is_null() -> None:
    builder = StreamsBuilder()
    regions = builder.global_table("regions")
    stream = builder.stream("in")
    left = watch(stream.left_join(regions, lambda key, value: None, pair))
    inner = watch(stream.join(regions, lambda key, value: None, pair))

    with scene(builder) as s:
        s.pipe("in", "a", "1", at=0)

        assert left == [("a", "1+None", 0)]
        assert inner == []
        assert sum(s.dropped.values()) == 1


@pytest.mark.parametrize(("kind", "written"), [("join", 0), ("left_join", 1)])
def test_trap_29_null_keys_vanish_in_a_repartition_unless_a_left_join_follows(kind: str, written: int) -> None:
    builder = StreamsBuilder()
    table = builder.table("table")
    rekeyed = builder.stream("in").select_key(lambda key, value: None)
    getattr(rekeyed, kind)(table, pair).to("out")

    with scene(builder) as s:
        s.pipe("in", "a", "1", at=0)

        repartitioned = [record for record in s.driver.produced if record.topic.endswith("-repartition")]
        assert len(repartitioned) == written
        assert s.dropped == {}  # silently


def test_trap_31_the_node_of_an_inner_join_with_a_global_table_is_called_a_left_join() -> None:
    builder = StreamsBuilder()
    regions = builder.global_table("regions")
    builder.stream("in").join(regions, lambda key, value: value, pair).to("out")

    description = str(builder.build().describe())

    assert "Processor: KSTREAM-LEFTJOIN-" in description
    assert "Processor: KSTREAM-JOIN-" not in description
