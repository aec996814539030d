"""StreamsBuilder: sources, stores and the finished topology."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headrace.dsl.builder import StreamsBuilder
from headrace.errors import OperatorTypeError, TopologyError
from headrace.processors.api import Processor
from headrace.state import stores
from headrace.windows import JoinWindows


def test_a_stream_reads_one_topic_several_or_a_pattern() -> None:
    builder = StreamsBuilder()
    builder.stream("a")
    builder.stream(["b", "c"])
    builder.stream(re.compile("x.*"))
    text = str(builder.build().describe())
    assert "(topics: [a])" in text
    assert "(topics: [b, c])" in text
    assert "(topics: x.*)" in text


def test_the_store_of_a_table_draws_its_number_before_the_source() -> None:
    builder = StreamsBuilder()
    table = builder.table("t")
    assert (table.name, table.queryable_store_name) == ("KTABLE-SOURCE-0000000002", None)


def test_a_named_table_names_its_source_too() -> None:
    builder = StreamsBuilder()
    builder.table("t", name="T", store="S")
    text = str(builder.build().describe())
    assert "Source: T-source (topics: [t])" in text
    assert "Processor: T (stores: [S])" in text


def test_a_global_table_without_a_store_name_can_be_queried_under_a_generated_one() -> None:
    assert StreamsBuilder().global_table("g").queryable_store_name == "g-STATE-STORE-0000000000"
    assert StreamsBuilder().global_table("g", store="G").queryable_store_name == "G"
    assert StreamsBuilder().global_table("g", store=True).queryable_store_name is None


def test_a_global_table_cannot_be_versioned() -> None:
    with pytest.raises(TopologyError, match="cannot be versioned"):
        StreamsBuilder().global_table("g", store=stores.versioned("G", timedelta(hours=1)))


class Write(Processor):
    def process(self, record: Any) -> None: ...


def test_a_global_store_is_filled_by_a_processor() -> None:
    builder = StreamsBuilder()
    builder.add_global_store(stores.key_value(stores.in_memory("G")), "g", Write)
    text = str(builder.build().describe())
    assert "Source: KSTREAM-SOURCE-0000000000 (topics: [g])" in text
    assert "Processor: KTABLE-SOURCE-0000000001 (stores: [G])" in text


def test_a_store_added_here_can_be_used_by_name() -> None:
    builder = StreamsBuilder()
    builder.add_state_store(stores.key_value(stores.in_memory("S")))
    builder.stream("in").process(Write, stores=["S"], name="P")
    assert "Processor: P (stores: [S])" in str(builder.build().describe())


def test_a_store_nobody_added_cannot_be_used() -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(Write, stores=["S"])
    with pytest.raises(TopologyError):
        builder.build()


@pytest.mark.parametrize(
    "call",
    [
        lambda b: b.stream(None),
        lambda b: b.stream([None]),
        lambda b: b.table(None),
        lambda b: b.global_table(7),
        lambda b: b.add_state_store(None),
        lambda b: b.add_global_store(None, "g", Write),
        lambda b: b.add_global_store(stores.key_value(stores.in_memory("G")), "g", None),
    ],
)
def test_nothing_cannot_be_read_or_stored(call: Any) -> None:
    with pytest.raises(OperatorTypeError):
        call(StreamsBuilder())


@pytest.mark.parametrize(
    "combine",
    [
        lambda ours, theirs: ours.stream("a").merge(theirs.stream("b")),
        lambda ours, theirs: ours.stream("a").join(theirs.table("b"), lambda a, b: a),
        lambda ours, theirs: ours.stream("a").left_join(theirs.stream("b"), lambda a, b: a, JoinWindows(1000)),
        lambda ours, theirs: ours.table("a").outer_join(theirs.table("b"), lambda a, b: a),
    ],
)
def test_what_another_builder_made_is_refused(combine: Callable[[StreamsBuilder, StreamsBuilder], object]) -> None:
    with pytest.raises(OperatorTypeError, match="of another StreamsBuilder"):
        combine(StreamsBuilder(), StreamsBuilder())
