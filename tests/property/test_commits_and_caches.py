"""Neither caches nor the places of commits change a final table: they only change which steps on the way are seen."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import SessionWindows, StreamsBuilder, TimeWindows, serdes
from tests.property.harness import Input, Program, final_tables

NO_CACHE, TINY_CACHE, CACHE = 0, 300, 1_000_000


def count(builder: StreamsBuilder) -> None:
    builder.stream("in").group_by_key().count(store="counts").to_stream().to("out")


def reduce(builder: StreamsBuilder) -> None:
    joined = builder.stream("in").group_by_key().reduce(lambda held, value: held + value, store="joined")
    joined.to_stream().to("out")


def regrouped_count(builder: StreamsBuilder) -> None:
    """Through a repartition topic."""
    builder.stream("in").group_by(lambda key, value: value).count(store="counts").to_stream().to("out")


def table(builder: StreamsBuilder) -> None:
    builder.table("in", store="rows").filter(lambda key, value: value != "x").to_stream().to("out")


def windowed_count(builder: StreamsBuilder) -> None:
    windows = TimeWindows(10, advance=5, grace=20)
    counts = builder.stream("in").group_by_key().windowed_by(windows).count(store="counts")
    counts.to_stream(lambda window, count: str(window)).to("out", key_serde=serdes.string())


def session_count(builder: StreamsBuilder) -> None:
    # With the least retention a store forgets a session in the last millisecond in which it may still grow.
    sessions = builder.stream("in").group_by_key().windowed_by(SessionWindows(5, grace=20))
    counts = sessions.count(store="counts", retention=1000)
    counts.to_stream(lambda window, count: str(window)).to("out", key_serde=serdes.string())


def inner_table_join(builder: StreamsBuilder) -> None:
    left, right = builder.table("in", store="left"), builder.table("other", store="right")
    left.join(right, lambda a, b: a + b, store="joined").to_stream().to("out")


def left_table_join(builder: StreamsBuilder) -> None:
    left, right = builder.table("in", store="left"), builder.table("other", store="right")
    left.left_join(right, lambda a, b: f"{a}{b}", store="joined").to_stream().to("out")


def outer_table_join(builder: StreamsBuilder) -> None:
    left, right = builder.table("in", store="left"), builder.table("other", store="right")
    left.outer_join(right, lambda a, b: f"{a}{b}", store="joined").to_stream().to("out")


def grouped_table(builder: StreamsBuilder) -> None:
    """The sizes of groups. An empty one has no row: ``count`` would leave a 0 for a group that was seen in between."""
    grouped = builder.table("in", store="rows").group_by(lambda key, value: (value, key))
    sizes = grouped.aggregate(
        lambda: 0,
        lambda group, key, size: size + 1,
        lambda group, key, size: size - 1 or None,
        store="sizes",
        value_serde=serdes.long(),
    )
    sizes.to_stream().to("out")


def foreign_key_join(builder: StreamsBuilder) -> None:
    left, right = builder.table("in", store="left"), builder.table("other", store="right")
    left.join(right, lambda a, b: a + b, foreign_key=lambda value: value, store="joined").to_stream().to("out")


PROGRAMS = [
    count,
    reduce,
    regrouped_count,
    table,
    windowed_count,
    session_count,
    inner_table_join,
    left_table_join,
    outer_table_join,
    grouped_table,
    foreign_key_join,
]
EVERY_PROGRAM = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)


def inputs() -> st.SearchStrategy[list[Input]]:
    record: Any = st.builds(
        Input,
        topic=st.sampled_from(["in", "in", "other"]),
        key=st.sampled_from("abxy"),
        value=st.none() | st.sampled_from("abxy"),
        timestamp=st.integers(0, 60),
    )
    return st.lists(record, max_size=25)


def of(program: Program, records: list[Input]) -> list[Input]:
    """What of ``records`` is for this program: only the joins of tables read the second topic."""
    if "join" not in program.__name__:
        return [record._replace(topic="in") for record in records]
    return records


@EVERY_PROGRAM
@settings(max_examples=30)
@given(records=inputs(), data=st.data())
def test_caching_on_and_off_give_the_same_final_tables(
    program: Program, records: list[Input], data: st.DataObject
) -> None:
    records = of(program, records)
    cache_bytes = data.draw(st.sampled_from([TINY_CACHE, CACHE]))

    cached = final_tables(program, records, cache_bytes=cache_bytes)

    assert cached == final_tables(program, records, cache_bytes=NO_CACHE)


@EVERY_PROGRAM
@settings(max_examples=30)
@given(records=inputs(), commit_after=st.sets(st.integers(0, 24)), data=st.data())
def test_a_cut_of_the_input_into_commits_changes_no_final_table(
    program: Program, records: list[Input], commit_after: set[int], data: st.DataObject
) -> None:
    records = of(program, records)
    cache_bytes = data.draw(st.sampled_from([NO_CACHE, TINY_CACHE, CACHE]))

    cut = final_tables(program, records, cache_bytes=cache_bytes, commit_after=commit_after)

    assert cut == final_tables(program, records, cache_bytes=cache_bytes, commit_after=range(len(records)))
