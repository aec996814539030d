"""Traps of windowed aggregation, suppression and emission (1 to 7, 13 to 15, 55, 60)."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import (
    BufferConfig,
    EmitStrategy,
    JoinWindows,
    SessionWindows,
    SlidingWindows,
    StreamsBuilder,
    Suppressed,
    TimeWindows,
    errors,
    serdes,
)
from headrace.partitioning import default_partition
from headrace.records import Headers
from headrace.topology.nodes import SinkNode
from headrace.windows import TimeWindow, Windowed
from tests.traps.scene import scene, watch


def test_trap_01_windowed_and_session_counts_include_null_values_plain_and_sliding_ones_do_not() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    plain = watch(grouped.count())
    windowed = watch(grouped.windowed_by(TimeWindows(10)).count())
    session = watch(grouped.windowed_by(SessionWindows(10)).count())
    sliding = watch(grouped.windowed_by(SlidingWindows(10)).count())

    with scene(builder) as s:
        s.pipe("in", "a", None, at=0)

    assert plain == []
    assert sliding == []
    assert windowed == [("[a@0/10]", 1, 0)]
    assert session == [("[a@0/0]", 1, 0)]


def test_trap_02_lateness_goes_by_what_the_aggregation_has_seen_not_by_the_tasks_stream_time() -> None:
    builder = StreamsBuilder()
    kept = builder.stream("in").filter(lambda key, value: value != "noise")
    counts = watch(kept.group_by_key().windowed_by(TimeWindows(10)).count())

    with scene(builder) as s:
        s.pipe("in", "a", "noise", at=100)  # moves the task's stream time, never reaches the aggregation
        s.pipe("in", "a", "1", at=0)

        assert counts == [("[a@0/10]", 1, 0)]
        assert s.dropped == {}


def test_trap_02_that_clock_starts_anew_after_a_restart() -> None:
    def program() -> StreamsBuilder:
        builder = StreamsBuilder()
        grouped = builder.stream("in").group_by_key()
        grouped.windowed_by(TimeWindows(10)).count(store="counts", retention=1000).to_stream()
        return builder

    with scene(program()) as s:
        s.pipe("in", "a", "1", at=0)
        s.pipe("in", "a", "2", at=100)
        s.pipe("in", "a", "late", at=1)
        assert s.dropped == {"expired window": 1}
        changelog = s.driver.changelog("counts")

    with scene(program()) as s:
        s.driver.restore("counts", changelog)
        s.pipe("in", "a", "late", at=1)
        assert s.dropped == {}
        assert s.driver.window_store("counts").fetch("a", 0) == 2


def test_trap_03_a_late_record_counts_as_dropped_once_per_expired_window() -> None:
    builder = StreamsBuilder()
    counts = watch(builder.stream("in").group_by_key().windowed_by(TimeWindows(10, advance=5)).count())

    with scene(builder) as s:
        s.pipe("in", "a", "1", at=100)
        counts.clear()
        s.pipe("in", "a", "late", at=7)  # in [0, 10) and in [5, 15)

        assert counts == []
        assert s.dropped == {"expired window": 2}


@pytest.mark.parametrize(("stream_time", "is_open"), [(14, True), (15, False)])
def test_trap_04_a_time_window_is_open_while_its_end_is_after_stream_time_less_grace(
    stream_time: int, is_open: bool
) -> None:
    # [0, 10) with grace 5: end 10 > 14 - 5, but not > 15 - 5
    assert _takes("in", TimeWindows(10, grace=5), stream_time, late=9) is is_open


@pytest.mark.parametrize(("stream_time", "is_open"), [(25, True), (26, False)])
def test_trap_04_a_sliding_window_is_open_until_its_end_too(stream_time: int, is_open: bool) -> None:
    # [10, 20] with grace 5: end 20 >= 25 - 5, but not >= 26 - 5
    assert _takes("in", SlidingWindows(10, grace=5), stream_time, late=20) is is_open


@pytest.mark.parametrize(("stream_time", "is_open"), [(35, True), (36, False)])
def test_trap_04_a_session_is_open_until_its_end_plus_gap_and_grace(stream_time: int, is_open: bool) -> None:
    # [20, 20] with gap 10 and grace 5: end 20 >= 35 - 15, but not >= 36 - 15
    assert _takes("in", SessionWindows(10, grace=5), stream_time, late=20) is is_open


def _takes(topic: str, windows: Any, stream_time: int, *, late: int) -> bool:
    builder = StreamsBuilder()
    counts = watch(builder.stream(topic).group_by_key().windowed_by(windows).count())
    with scene(builder) as s:
        s.pipe(topic, "clock", "", at=stream_time)
        counts.clear()
        s.pipe(topic, "a", "1", at=late)
        return [key for key, _, _ in counts] != []


def test_trap_05_suppress_lets_a_session_go_one_millisecond_before_it_closes() -> None:
    builder = StreamsBuilder()
    sessions = builder.stream("in").group_by_key(key_serde=serdes.string()).windowed_by(SessionWindows(10)).count()
    final = watch(sessions.suppress(Suppressed.until_window_closes()))

    with scene(builder) as s:
        s.pipe("in", "a", "1", at=0)
        s.pipe("in", "clock", "", at=10)  # suppress: 0 <= 10 - 10, so the result is final
        assert final == [("[a@0/0]", 1, 0)]
        s.pipe("in", "a", "2", at=0)  # the aggregation: 0 >= 10 - 10, so the session is open
        assert final == [("[a@0/0]", 1, 0), ("[a@0/0]", 2, 0)]


def test_trap_06_suppress_drops_tombstones_only_until_windows_close() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key(key_serde=serdes.string())
    sessions = grouped.windowed_by(SessionWindows(10)).count(caching=False)
    updates = watch(sessions)
    final = watch(sessions.suppress(Suppressed.until_window_closes()))
    table = builder.table("table", store="table")
    limited = watch(table.suppress(Suppressed.until_time_limit(10, BufferConfig.unbounded())))

    with scene(builder) as s:
        s.pipe("in", "a", "1", at=0)
        s.pipe("in", "a", "2", at=5)
        s.pipe("in", "clock", "", at=100)
        assert ("[a@0/0]", None, 0) in updates
        assert final == [("[a@0/5]", 2, 5)]
        s.pipe("table", "a", "1", at=100)
        s.pipe("table", "a", None, at=101)
        s.pipe("table", "clock", "", at=110)
        assert limited == [("a", None, 101)]


def test_trap_06_a_time_limit_runs_from_the_first_update_of_a_key() -> None:
    builder = StreamsBuilder()
    limited = watch(builder.table("in", store="s").suppress(Suppressed.until_time_limit(10, BufferConfig.unbounded())))

    with scene(builder) as s:
        s.pipe("in", "a", "1", at=0)
        s.pipe("in", "a", "2", at=9)  # replaces the value, not the time it came into the buffer
        s.pipe("in", "clock", "", at=10)

    assert limited == [("a", "2", 9)]


def test_trap_07_results_at_window_close_wait_for_a_record_and_for_a_second_of_wall_clock() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    final = watch(grouped.windowed_by(TimeWindows(10)).emit_strategy(EmitStrategy.on_window_close()).count())

    with scene(builder, {"__emit.interval.ms.kstreams.windowed.aggregation__": 1000}) as s:
        s.pipe("in", "a", "1", at=0)
        s.pipe("in", "clock", "", at=10)  # the window closed, but it is too soon
        s.driver.advance_wall_clock_time(1001)
        assert final == []  # time alone moves nothing
        s.pipe("in", "clock", "", at=11)
        assert final == [("[a@0/10]", 1, 0)]


def test_trap_07_so_do_the_unmatched_records_of_outer_joins() -> None:
    builder = StreamsBuilder()
    joined = watch(builder.stream("left").left_join(builder.stream("right"), lambda a, b: (a, b), JoinWindows(10)))

    with scene(builder, {"__emit.interval.ms.kstreams.outer.join.spurious.results.fix__": 1000}) as s:
        s.pipe("right", "clock", "", at=0)  # starts the second
        s.pipe("left", "a", "1", at=0)
        s.pipe("right", "clock", "", at=100)
        s.driver.advance_wall_clock_time(1001)
        assert joined == []
        s.pipe("right", "clock", "", at=101)
        assert joined == [("a", ("1", None), 0)]


def test_trap_07_the_test_driver_does_not_make_them_wait() -> None:
    builder = StreamsBuilder()
    grouped = builder.stream("in").group_by_key()
    final = watch(grouped.windowed_by(TimeWindows(10)).emit_strategy(EmitStrategy.on_window_close()).count())

    with scene(builder) as s:
        s.pipe("in", "a", "1", at=0)
        s.pipe("in", "clock", "", at=10)

    assert final == [("[a@0/10]", 1, 0)]


def test_trap_13_a_session_that_grows_is_deleted_first_and_its_updates_carry_no_headers() -> None:
    builder = StreamsBuilder()
    headers: list[Headers] = []
    grouped = builder.stream("in").group_by_key()
    updates = watch(grouped.windowed_by(SessionWindows(10, grace=100)).count(caching=False), headers)

    with scene(builder) as s:
        s.pipe("in", "a", "1", at=0)
        s.pipe("in", "a", "2", at=20)
        s.pipe("in", "a", "3", at=10, headers=[("h", b"")])

    # 0    10   20
    # |----|----|   the third record makes one session of two
    assert updates == [
        ("[a@0/0]", 1, 0),
        ("[a@20/20]", 1, 20),
        ("[a@0/0]", None, 0),
        ("[a@20/20]", None, 20),
        ("[a@0/20]", 3, 20),
    ]
    assert headers == [[]] * 5


def test_trap_14_a_second_record_at_the_same_instant_replaces_the_session_without_taking_it_back() -> None:
    builder = StreamsBuilder()
    sessions = builder.stream("in").group_by_key().windowed_by(SessionWindows(10)).count(caching=False)
    updates = watch(sessions)
    sums = watch(
        sessions.group_by(lambda session, count: (session.key, count), value_serde=serdes.long()).reduce(
            lambda total, count: total + count, lambda total, count: total - count
        )
    )

    with scene(builder) as s:
        s.pipe("in", "a", "1", at=0)
        s.pipe("in", "a", "2", at=0)

    assert updates == [("[a@0/0]", 1, 0), ("[a@0/0]", 2, 0)]
    # Without an old value nothing is subtracted: 1 + 2, where 2 would be right.
    assert [total for _, total, _ in sums] == [1, 3]


def test_trap_15_a_late_record_still_calls_the_initializer_and_the_merger_of_its_sessions() -> None:
    calls: list[str] = []
    builder = StreamsBuilder()

    def initializer() -> int:
        calls.append("initializer")
        return 0

    def aggregator(key: str, value: str, total: int) -> int:
        calls.append(f"aggregator {value}")
        return total + 1

    def merger(key: str, left: int, right: int) -> int:
        calls.append("merger")
        return left + right

    sessions = builder.stream("in").group_by_key().windowed_by(SessionWindows(10))
    sessions.aggregate(initializer, aggregator, merger, retention=1000, value_serde=serdes.long())

    with scene(builder) as s:
        s.pipe("in", "a", "first", at=0)
        s.pipe("in", "clock", "clock", at=100)
        calls.clear()
        s.pipe("in", "a", "late", at=5)

        assert calls == ["initializer", "merger"]
        assert s.dropped == {"expired window": 1}


def test_trap_55_sliding_windows_of_difference_zero_are_accepted_and_fail_with_the_first_record() -> None:
    builder = StreamsBuilder()
    builder.stream("in").group_by_key().windowed_by(SlidingWindows(0)).count()

    with scene(builder) as s, pytest.raises(errors.ProcessingError, match="window end must be after its start"):
        s.pipe("in", "a", "1", at=5)


def test_trap_60_windowed_keys_are_partitioned_by_the_key_inside() -> None:
    builder = StreamsBuilder()
    counts = builder.stream("in").group_by_key(key_serde=serdes.string()).windowed_by(TimeWindows(10)).count()
    counts.to_stream().to("out", key_serde=serdes.windowed(serdes.string(), 10))
    nodes = builder.build().graph.nodes.values()
    partitioner: Any = next(node.partitioner for node in nodes if isinstance(node, SinkNode))

    chosen = {partitioner("out", Windowed("a", TimeWindow(start, start + 10)), 1, 50) for start in (0, 10, 20)}

    assert chosen == {default_partition(b"a", 50)}
