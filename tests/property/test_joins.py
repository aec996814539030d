"""Every join and every suppression, with any cache, gives what a plain model gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import BufferConfig, JoinWindows, StreamsBuilder, Suppressed, TimeWindows
from tests.property import models
from tests.property.harness import HandDrivenTask, Input, Program, running
from tests.property.models import Event
from tests.property.test_windows import CACHES, ENOUGH_MS, EXAMPLES, STORES, TEXT, as_text

Rows = dict[str, str]
COMMITS = st.sets(st.integers(0, 64), max_size=8)
AT_ONCE = {
    "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__": 0,
    "__emit.interval.ms.kstreams.windowed.aggregation__": 0,
}
"""Settings: what may leave is looked for with every record."""


def records(*topics: str, deletions: bool) -> st.SearchStrategy[list[Input]]:
    record: Any = st.builds(
        Input,
        topic=st.sampled_from(topics),
        key=st.sampled_from("abc"),
        value=st.sampled_from("abc") | st.none() if deletions else st.sampled_from("abc"),
        timestamp=st.integers(0, 20),
    )
    return st.sampled_from([0, 15, 40]).flatmap(lambda size: st.lists(record, min_size=size, max_size=size + 15))


def feed(task: HandDrivenTask, arriving: list[Input], commit_after: set[int]) -> None:
    for position, record in enumerate(arriving):
        task.feed(record)
        if position in commit_after:
            task.commit()
    task.commit()


def table_of(task: HandDrivenTask, topic: str = "out") -> Rows:
    return {key.decode(): value.decode() for key, value in task.written.get(topic, {}).items() if key is not None}


def sent_to(task: HandDrivenTask, topic: str = "out") -> Counter[tuple[str, str]]:
    return Counter(
        (key.decode(), value.decode()) for to, key, value in task.sent if to == topic and key and value is not None
    )


def pair(left: Any, right: Any) -> str:
    return f"{left}+{right}"


# Tables


def tables(arriving: list[Input]) -> tuple[Rows, Rows]:
    """The rows of the topics ``l`` and ``r`` at the end."""
    made: dict[str, Rows] = {"l": {}, "r": {}}
    for record in arriving:
        made[record.topic].pop(record.key, None)
        if record.value is not None:
            made[record.topic][record.key] = record.value
    return made["l"], made["r"]


def inner(left: Rows, right: Rows) -> Rows:
    return {key: pair(left[key], right[key]) for key in left if key in right}


def left(left: Rows, right: Rows) -> Rows:
    return {key: pair(left[key], right.get(key)) for key in left}


def outer(left: Rows, right: Rows) -> Rows:
    return {key: pair(left.get(key), right.get(key)) for key in {*left, *right}}


def foreign(left: Rows, right: Rows) -> Rows:
    return {key: pair(value, right[value]) for key, value in left.items() if value in right}


def left_foreign(left: Rows, right: Rows) -> Rows:
    return {key: pair(value, right.get(value)) for key, value in left.items()}


TABLE_JOINS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Rows, Rows], Rows]]] = {
    "inner": (lambda a, b: a.join(b, pair), inner),
    "left": (lambda a, b: a.left_join(b, pair), left),
    "outer": (lambda a, b: a.outer_join(b, pair), outer),
    "inner kept": (lambda a, b: a.join(b, pair, store="joined"), inner),
    "outer kept": (lambda a, b: a.outer_join(b, pair, store="joined"), outer),
    "left of filtered": (
        lambda a, b: a.left_join(b.filter(lambda key, value: value != "c"), pair),
        lambda a, b: left(a, {key: value for key, value in b.items() if value != "c"}),
    ),
    "three": (
        lambda a, b: a.join(b, pair).left_join(a.map_values(str.upper), pair),
        lambda a, b: left(inner(a, b), {key: value.upper() for key, value in a.items()}),
    ),
    "foreign": (lambda a, b: a.join(b, pair, foreign_key=lambda value: value), foreign),
    "left foreign": (lambda a, b: a.left_join(b, pair, foreign_key=lambda value: value), left_foreign),
}


@pytest.mark.parametrize("kind", TABLE_JOINS)
@settings(max_examples=20 * EXAMPLES)
@given(arriving=records("l", "r", deletions=True), stores=STORES, cache_bytes=CACHES, commit_after=COMMITS)
def test_joins_of_tables(
    kind: str, arriving: list[Input], stores: dict[str, str], cache_bytes: int, commit_after: set[int]
) -> None:
    join, model = TABLE_JOINS[kind]

    def program(builder: StreamsBuilder) -> None:
        joined = join(builder.table("l", store="left"), builder.table("r", store="right"))
        joined.to_stream().to("out", value_serde=TEXT)

    with running(program, cache_bytes=cache_bytes, settings=stores) as task:
        feed(task, arriving, commit_after)
        assert table_of(task) == model(*tables(arriving))


@pytest.mark.parametrize("kind", ["inner", "left", "outer"])
@settings(max_examples=20 * EXAMPLES)
@given(arriving=records("l", "r", deletions=True), stores=STORES, cache_bytes=CACHES, commit_after=COMMITS)
def test_groups_of_joined_tables(
    kind: str, arriving: list[Input], stores: dict[str, str], cache_bytes: int, commit_after: set[int]
) -> None:
    """What a group loses is what it was given before."""
    join, model = TABLE_JOINS[kind]

    def program(builder: StreamsBuilder) -> None:
        joined = join(builder.table("l", store="left"), builder.table("r", store="right"))
        grouped = joined.group_by(lambda key, value: (value, key), key_serde=TEXT, value_serde=TEXT)
        grouped.count().to_stream().map_values(as_text).to("out", value_serde=TEXT)

    with running(program, cache_bytes=cache_bytes, settings=stores) as task:
        feed(task, arriving, commit_after)
        found = {key: value for key, value in table_of(task).items() if value != "0"}

    assert found == {row: str(number) for row, number in Counter(model(*tables(arriving)).values()).items()}


# Streams


def stream_program(kind: str, windows: JoinWindows) -> Program:
    def program(builder: StreamsBuilder) -> None:
        left, right = builder.stream("l"), builder.stream("r")
        joined = getattr(left, {"inner": "join"}.get(kind, f"{kind}_join"))(right, pair, windows)
        joined.to("out", value_serde=TEXT)

    return program


def joined_streams(kind: str, arriving: list[Input], before: int, after: int) -> Counter[tuple[str, str]]:
    """All pairs, and those that find no partner: nothing is late."""
    found: Counter[tuple[str, str]] = Counter()
    lefts = [record for record in arriving if record.topic == "l"]
    rights = [record for record in arriving if record.topic == "r"]

    def meet(one: Input, other: Input) -> bool:
        return one.key == other.key and -before <= other.timestamp - one.timestamp <= after

    found.update((one.key, pair(one.value, other.value)) for one in lefts for other in rights if meet(one, other))
    if kind in ("left", "outer"):
        found.update((one.key, pair(one.value, None)) for one in lefts if not any(meet(one, other) for other in rights))
    if kind == "outer":
        found.update((one.key, pair(None, one.value)) for one in rights if not any(meet(other, one) for other in lefts))
    return found


@pytest.mark.parametrize("kind", ["inner", "left", "outer"])
@settings(max_examples=20 * EXAMPLES)
@given(
    arriving=records("l", "r", deletions=False),
    reach=st.tuples(st.integers(0, 7), st.integers(0, 7)),
    in_order=st.booleans(),
    stores=STORES,
    cache_bytes=CACHES,
    commit_after=COMMITS,
)
def test_joins_of_streams(
    kind: str,
    arriving: list[Input],
    reach: tuple[int, int],
    in_order: bool,
    stores: dict[str, str],
    cache_bytes: int,
    commit_after: set[int],
) -> None:
    before, after = reach
    if in_order:
        arriving = sorted(arriving, key=lambda record: record.timestamp)
    elif kind != "inner":
        # A record that comes when stream time has left its window behind goes alone at once.
        before = after = 20
    # Without any grace a store may forget a record in the last millisecond in which it can be met, as in Kafka Streams.
    grace = 1 if in_order else ENOUGH_MS
    windows = JoinWindows(0, before=before, after=after, grace=grace)
    flush = [Input(topic, "flush", "", 3 * ENOUGH_MS) for topic in ("l", "r")]

    with running(stream_program(kind, windows), cache_bytes=cache_bytes, settings=stores | AT_ONCE) as task:
        feed(task, [*arriving, *flush], commit_after)
        found = Counter({row: count for row, count in sent_to(task).items() if row[0] != "flush"})

    assert found == joined_streams(kind, arriving, before, after)


@pytest.mark.parametrize("kind", ["join", "left_join"])
@settings(max_examples=20 * EXAMPLES)
@given(arriving=records("l", "r", deletions=True), stores=STORES, cache_bytes=CACHES, commit_after=COMMITS)
def test_joins_of_a_stream_with_a_table(
    kind: str, arriving: list[Input], stores: dict[str, str], cache_bytes: int, commit_after: set[int]
) -> None:
    def program(builder: StreamsBuilder) -> None:
        getattr(builder.stream("l"), kind)(builder.table("r"), pair).to("out", value_serde=TEXT)

    expected: Counter[tuple[str, str]] = Counter()
    rows: dict[str, str | None] = {}
    for record in arriving:
        row = rows.get(record.key)
        if record.topic == "r":
            rows[record.key] = record.value
        elif record.value is not None and (row is not None or kind == "left_join"):
            expected[record.key, pair(record.value, row)] += 1

    with running(program, cache_bytes=cache_bytes, settings=stores) as task:
        feed(task, arriving, commit_after)
        assert sent_to(task) == expected


# Suppression


@settings(max_examples=30 * EXAMPLES)
@given(
    arriving=records("in", deletions=False),
    times=st.tuples(st.integers(1, 6), st.integers(0, 6)),
    stores=STORES,
    cache_bytes=CACHES,
    commit_after=COMMITS,
)
def test_windows_held_back_until_they_close_leave_once(
    arriving: list[Input], times: tuple[int, int], stores: dict[str, str], cache_bytes: int, commit_after: set[int]
) -> None:
    size, grace = times

    def program(builder: StreamsBuilder) -> None:
        windowed = builder.stream("in").group_by_key().windowed_by(TimeWindows(size, grace=grace))
        table = windowed.reduce(lambda held, value: held + value, key_serde=TEXT, value_serde=TEXT)
        final = table.suppress(Suppressed.until_window_closes())
        final.to_stream(lambda window, value: str(window)).to("out", key_serde=TEXT, value_serde=TEXT)

    with running(program, cache_bytes=cache_bytes, settings=stores) as task:
        feed(task, [*arriving, Input("in", "flush", "", ENOUGH_MS)], commit_after)
        found = sent_to(task)

    events = [Event(record.key, str(record.value), record.timestamp) for record in arriving]
    assert found == Counter(models.time_windows(events, size, size, grace).items())


@settings(max_examples=30 * EXAMPLES)
@given(
    arriving=records("r", deletions=True),
    limit=st.integers(0, 8),
    room=st.integers(1, 4),
    stores=STORES,
    cache_bytes=CACHES,
    commit_after=COMMITS,
)
def test_rows_held_back_for_a_time_arrive(
    arriving: list[Input], limit: int, room: int, stores: dict[str, str], cache_bytes: int, commit_after: set[int]
) -> None:
    def program(builder: StreamsBuilder) -> None:
        buffer = BufferConfig.max_records(room).emit_early_when_full()
        held = builder.table("r").suppress(Suppressed.until_time_limit(limit, buffer))
        held.to_stream().to("out", value_serde=TEXT)

    flush = [Input("r", "flush", "flush", ENOUGH_MS), Input("r", "flush", "flush", 2 * ENOUGH_MS)]
    with running(program, cache_bytes=cache_bytes, settings=stores) as task:
        feed(task, [*arriving, *flush], commit_after)
        found = table_of(task)

    assert {key: value for key, value in found.items() if key != "flush"} == tables(arriving)[1]
