"""KTable: what its methods add to a topology."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import serdes
from headrace.dsl.builder import StreamsBuilder
from headrace.errors import ArgumentError, OperatorTypeError, TopologyError
from headrace.state import stores
from headrace.testing import TopologyTestDriver
from headrace.windows import BufferConfig, Suppressed


def truth(_key: Any, _value: Any) -> bool:
    return True


def concat(left: Any, right: Any) -> str:
    return f"{left}{right}"


def described(builder: StreamsBuilder) -> str:
    return str(builder.build().describe())


def test_an_operator_without_a_named_store_keeps_nothing_but_counts_one_up() -> None:
    builder = StreamsBuilder()
    table = builder.table("t")
    filtered = table.filter(truth, store=True)
    mapped = filtered.map_values(str, key_serde=None, caching=False)
    assert (filtered.name, mapped.name) == ("KTABLE-FILTER-0000000004", "KTABLE-MAPVALUES-0000000006")
    assert (filtered.queryable_store_name, mapped.queryable_store_name) == (None, None)
    assert "stores: [KTABLE" not in described(builder)


def test_a_named_store_keeps_the_table() -> None:
    builder = StreamsBuilder()
    filtered = builder.table("t").filter(truth, name="even", store="kept")
    assert (filtered.name, filtered.queryable_store_name) == ("even", "kept")
    assert "Processor: even (stores: [kept])" in described(builder)


def test_a_join_makes_source_tables_keep_their_rows() -> None:
    builder = StreamsBuilder()
    left, right = builder.table("l"), builder.table("r")
    joined = left.join(right, concat)
    text = described(builder)
    assert joined.name == "KTABLE-MERGE-0000000006"
    assert "KTABLE-JOINTHIS-0000000007 (stores: [r-STATE-STORE-0000000003])" in text
    assert "KTABLE-JOINOTHER-0000000008 (stores: [l-STATE-STORE-0000000000])" in text


def test_a_table_nobody_looks_up_is_not_kept() -> None:
    builder = StreamsBuilder()
    builder.table("t").to_stream()
    assert "KTABLE-SOURCE-0000000002 (stores: [])" in described(builder)


def test_a_name_spreads_over_the_nodes_of_a_join() -> None:
    builder = StreamsBuilder()
    builder.table("l").outer_join(builder.table("r"), concat, name="j", store="kept")
    text = described(builder)
    assert all(f"Processor: {name} " in text for name in ("j", "j-join-this", "j-join-other"))
    assert "Processor: j (stores: [kept])" in text


def test_suppress_needs_a_window_above_to_wait_for() -> None:
    table = StreamsBuilder().table("t")
    with pytest.raises(TopologyError, match="windowed computations"):
        table.suppress(Suppressed.until_window_closes())


def test_suppress_refuses_versioned_tables() -> None:
    table = StreamsBuilder().table("t", store=stores.versioned("v", 10))
    with pytest.raises(TopologyError, match="versioned"):
        table.suppress(Suppressed.until_time_limit(1, BufferConfig.unbounded()))


def test_suppress_names_its_buffer_after_itself() -> None:
    builder = StreamsBuilder()
    builder.table("t").suppress(Suppressed.until_time_limit(1, BufferConfig.unbounded(), name="hold"))
    assert "Processor: hold (stores: [hold-store])" in described(builder)


def test_joins_with_something_else_than_a_table_are_refused() -> None:
    builder = StreamsBuilder()
    table, stream = builder.table("t"), builder.stream("s")
    with pytest.raises(OperatorTypeError, match="joins with a KTable"):
        table.join(stream, concat)  # type: ignore[call-overload]


def test_keywords_of_foreign_key_joins_are_refused_on_others() -> None:
    builder = StreamsBuilder()
    left, right = builder.table("l"), builder.table("r")
    with pytest.raises(ArgumentError, match="foreign-key"):
        left.left_join(right, concat, with_key=True)  # type: ignore[call-overload]


def test_functions_are_checked_where_they_are_given() -> None:
    table = StreamsBuilder().table("t")
    with pytest.raises(OperatorTypeError, match="mapper is called with 1"):
        table.map_values(lambda key, value: value)  # type: ignore[arg-type, misc]
    with pytest.raises(OperatorTypeError, match="predicate must be a function"):
        table.filter(None)  # type: ignore[arg-type]
    with pytest.raises(OperatorTypeError, match="Did you mean"):
        table.filter(truth, stor="x")  # type: ignore[call-arg]


def test_a_stream_of_changes_can_have_new_keys() -> None:
    builder = StreamsBuilder()
    stream = builder.table("t").to_stream(lambda key, value: value, name="changes")
    assert stream.name == "KSTREAM-KEY-SELECT-0000000004"
    assert "Processor: changes " in described(builder)


def test_an_unnamed_store_settles_that_the_result_is_not_versioned() -> None:
    table = StreamsBuilder().table("t", store=stores.versioned("v", 10))
    assert table.filter(truth).node.output_versioned is None
    assert table.filter(truth, store=True).node.output_versioned is False


def test_serdes_follow_the_values() -> None:
    key_serde, value_serde = serdes.integer(), serdes.double()
    table = StreamsBuilder().table("t", key_serde=key_serde, value_serde=value_serde)
    assert (table.filter(truth).key_serde, table.filter(truth).value_serde) == (key_serde, value_serde)
    assert (table.map_values(str).key_serde, table.map_values(str).value_serde) == (key_serde, None)


def test_a_value_transformer_sees_where_a_record_came_from() -> None:
    class Origin:
        def init(self, context: Any) -> None:
            self._context = context

        def transform(self, key: str, value: str) -> str:
            record = self._context.record_context
            return f"{value} {record.timestamp} {record.partition} {record.offset} {list(record.headers)}"

        def close(self) -> None: ...

    builder = StreamsBuilder()
    builder.table("in").transform_values(Origin, store="kept").to_stream().to("out")
    with TopologyTestDriver(builder.build()) as driver:
        topic = driver.create_input_topic("in")
        topic.pipe_input("a", "x", timestamp=1)
        topic.pipe_input("a", "y", timestamp=2, headers=[("h", b"1")])
        assert driver.create_output_topic("out").read_values_to_list() == ["x 1 0 0 []", "y 2 0 1 [('h', b'1')]"]
