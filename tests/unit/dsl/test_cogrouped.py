from __future__ import annotations

from typing import Any

import pytest

from headrace import serde as serdes
from headrace.dsl.builder import StreamsBuilder
from headrace.errors import OperatorTypeError
from headrace.windows import SessionWindows, SlidingWindows, TimeWindows


def keep(key: Any, value: Any, aggregate: Any) -> Any:
    return aggregate


def test_each_stream_has_its_aggregation_and_one_node_merges_them() -> None:
    builder = StreamsBuilder()
    left, right = builder.stream("a").group_by_key(), builder.stream("b").group_by_key()
    left.cogroup(keep).cogroup(right, keep).aggregate(str, store="S")
    assert str(builder.build().describe()) == (
        "Topologies:\n"
        "   Sub-topology: 0\n"
        "    Source: KSTREAM-SOURCE-0000000000 (topics: [a])\n"
        "      --> COGROUPKSTREAM-AGGREGATE-0000000002\n"
        "    Source: KSTREAM-SOURCE-0000000001 (topics: [b])\n"
        "      --> COGROUPKSTREAM-AGGREGATE-0000000003\n"
        "    Processor: COGROUPKSTREAM-AGGREGATE-0000000002 (stores: [S])\n"
        "      --> COGROUPKSTREAM-MERGE-0000000004\n"
        "      <-- KSTREAM-SOURCE-0000000000\n"
        "    Processor: COGROUPKSTREAM-AGGREGATE-0000000003 (stores: [S])\n"
        "      --> COGROUPKSTREAM-MERGE-0000000004\n"
        "      <-- KSTREAM-SOURCE-0000000001\n"
        "    Processor: COGROUPKSTREAM-MERGE-0000000004 (stores: [])\n"
        "      --> none\n"
        "      <-- COGROUPKSTREAM-AGGREGATE-0000000002, COGROUPKSTREAM-AGGREGATE-0000000003\n\n"
    )


def test_a_name_goes_to_all_nodes_with_a_suffix() -> None:
    builder = StreamsBuilder()
    group = builder.stream("a").group_by_key()
    table = group.cogroup(keep).windowed_by(TimeWindows(10)).aggregate(str, name="x")
    assert table.name == "x-cogroup-merge"
    assert "Processor: x-cogroup-agg-0" in str(builder.build().describe())


def test_the_same_stream_counts_once_with_its_last_aggregator() -> None:
    builder = StreamsBuilder()
    group = builder.stream("a").group_by_key()
    group.cogroup(keep).cogroup(group, keep).aggregate(str, name="x")
    assert "agg-1" not in str(builder.build().describe())


def test_the_serde_of_windowed_keys_is_around_the_given_one_or_the_default() -> None:
    cogrouped = StreamsBuilder().stream("a").group_by_key().cogroup(keep)
    assert cogrouped.aggregate(str, key_serde=serdes.string()).key_serde is not None
    for windows in (TimeWindows(10), SlidingWindows(10)):
        view = cogrouped.windowed_by(windows)
        assert view.aggregate(str).key_serde == serdes.windowed(None, 10)
        assert view.aggregate(str, key_serde=serdes.string()).key_serde == serdes.windowed(serdes.string(), 10)
    sessions = cogrouped.windowed_by(SessionWindows(10))
    assert sessions.aggregate(str, lambda k, a, b: a).key_serde == serdes.session_windowed()


def test_refuses_a_stream_that_is_not_grouped_and_what_are_no_windows() -> None:
    stream = StreamsBuilder().stream("a")
    cogrouped = stream.group_by_key().cogroup(keep)
    with pytest.raises(OperatorTypeError, match="KGroupedStream"):
        cogrouped.cogroup(stream, keep)  # type: ignore[arg-type]
    with pytest.raises(OperatorTypeError, match="windowed_by"):
        cogrouped.windowed_by("5 minutes")  # type: ignore[call-overload]
    with pytest.raises(OperatorTypeError, match="aggregator"):
        cogrouped.cogroup(stream.group_by_key(), lambda v: v)  # type: ignore[arg-type, misc]
