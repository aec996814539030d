"""KGroupedTable: names, topics and serdes of its aggregations."""

from __future__ import annotations

from typing import Any

from headrace import serde
from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.grouped_table import KGroupedTable


def swap(key: Any, value: Any) -> tuple[Any, Any]:
    return value, key


def grouped(builder: StreamsBuilder, **keywords: Any) -> KGroupedTable:
    return builder.table("t").group_by(swap, **keywords)


def test_an_aggregation_repartitions_under_the_name_of_its_store() -> None:
    builder = StreamsBuilder()
    counted = grouped(builder).count()
    text = str(builder.build().describe())
    assert counted.name == "KTABLE-AGGREGATE-0000000007"
    assert "KSTREAM-SINK-0000000005 (topic: KTABLE-AGGREGATE-STATE-STORE-0000000004-repartition)" in text
    assert counted.queryable_store_name is None


def test_aggregations_of_a_named_group_share_the_repartition_topic() -> None:
    builder = StreamsBuilder()
    group = grouped(builder, name="g")
    group.count("one")
    group.reduce(max, min, "other")
    assert str(builder.build().describe()).count("(topic: g-repartition)") == 1


def test_a_named_aggregation_names_its_sink_and_source_too() -> None:
    builder = StreamsBuilder()
    total = grouped(builder).aggregate(int, lambda k, v, a: a, lambda k, v, a: a, store="kept", name="total")
    text = str(builder.build().describe())
    assert (total.name, total.queryable_store_name) == ("total", "kept")
    assert all(name in text for name in ("Sink: total-sink (topic: kept-repartition)", "Source: total-source"))


def test_counts_are_longs_and_reductions_keep_their_serde() -> None:
    key_serde, value_serde = serde.string(), serde.integer()
    group = grouped(StreamsBuilder(), key_serde=key_serde, value_serde=value_serde)
    count, reduction = group.count(), group.reduce(max, min)
    assert count.value_serde is not None
    assert count.value_serde.serialize("", 1) == b"\0" * 7 + b"\1"
    assert (count.key_serde, reduction.key_serde, reduction.value_serde) == (key_serde, key_serde, value_serde)
