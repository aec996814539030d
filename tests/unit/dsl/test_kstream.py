"""KStream: which nodes its operators add, what they are called, and what they refuse."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from headrace import serde as serdes
from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.kstream import KStream
from headrace.errors import ArgumentError, OperatorTypeError, TopologyError
from headrace.processors.api import Processor


def nodes(builder: StreamsBuilder, config: dict[str, Any] | None = None) -> list[str]:
    """Sources, processors and sinks by name, in the order of the description."""
    return re.findall(r"(?:Source|Processor|Sink): (\S+)", str(builder.build(config).describe()))


def first(key: Any, value: Any) -> Any:
    return key


def pair(key: Any, value: Any) -> Any:
    return key, value


class Forward(Processor):
    def process(self, record: Any) -> None:
        self.context.forward(record)


def test_every_operator_draws_a_number_even_when_it_is_named() -> None:
    builder = StreamsBuilder()
    builder.stream("in").filter(first, name="F").map_values(str).peek(first).to("out")
    assert nodes(builder) == [
        "KSTREAM-SOURCE-0000000000",
        "F",
        "KSTREAM-MAPVALUES-0000000002",
        "KSTREAM-PEEK-0000000003",
        "KSTREAM-SINK-0000000004",
    ]


def test_a_named_processor_draws_no_number() -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(Forward, name="P").process(Forward).to("out")
    assert nodes(builder)[1:] == ["P", "KSTREAM-PROCESSOR-0000000001", "KSTREAM-SINK-0000000002"]


@pytest.mark.parametrize(
    ("change", "repartition", "key_kept", "value_kept"),
    [
        (lambda s: s.filter(first), False, True, True),
        (lambda s: s.filter_not(first), False, True, True),
        (lambda s: s.peek(first), False, True, True),
        (lambda s: s.map_values(str), False, True, False),
        (lambda s: s.flat_map_values(str.split), False, True, False),
        (lambda s: s.process_values(Forward), False, True, False),
        (lambda s: s.select_key(first), True, False, True),
        (lambda s: s.map(pair), True, False, False),
        (lambda s: s.flat_map(pair), True, False, False),
        (lambda s: s.process(Forward), True, False, False),
        (lambda s: s.merge(s), False, False, False),
        (lambda s: s.select_key(first).repartition(), False, False, True),
    ],
)
def test_what_an_operator_leaves_of_serdes_and_partitioning(
    change: Any, repartition: bool, key_kept: bool, value_kept: bool
) -> None:
    source = StreamsBuilder().stream("in", key_serde=serdes.long(), value_serde=serdes.string())
    result: KStream = change(source)
    assert result.repartition_required is repartition
    assert (result.key_serde is not None, result.value_serde is not None) == (key_kept, value_kept)


def test_merge_demands_a_repartition_when_one_side_does() -> None:
    builder = StreamsBuilder()
    assert builder.stream("a").merge(builder.stream("b").select_key(first)).repartition_required


def test_repartition_writes_and_reads_an_internal_topic_of_the_given_name() -> None:
    builder = StreamsBuilder()
    builder.stream("in").repartition(name="R").to("out")
    text = str(builder.build().describe())
    assert "Sink: R-repartition-sink (topic: R-repartition)" in text
    assert "Source: R-repartition-source (topics: [R-repartition])" in text


def test_to_table_repartitions_a_stream_with_new_keys() -> None:
    builder = StreamsBuilder()
    table = builder.stream("in").select_key(first).to_table(store="T")
    assert table.queryable_store_name == "T"
    assert "KSTREAM-TOTABLE-0000000002-repartition" in str(builder.build().describe())


def test_to_table_without_a_name_cannot_be_queried() -> None:
    assert StreamsBuilder().stream("in").to_table().queryable_store_name is None


def test_two_unnamed_joins_of_one_stream_share_its_repartition() -> None:
    builder = StreamsBuilder()
    stream, table = builder.stream("in").select_key(first), builder.table("t")
    stream.join(table, first).to("a")
    stream.join(table, first).to("b")
    assert len(re.findall(r"Sink: .*-repartition\)", str(builder.build().describe()))) == 1


def test_print_is_labelled_with_the_step_before(capsys: pytest.CaptureFixture[str]) -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in", name="source")
    stream.print()
    stream.print(label="mine")
    assert nodes(builder) == ["source", "KSTREAM-PRINTER-0000000001", "KSTREAM-PRINTER-0000000002"]


def test_print_needs_a_file_it_can_write(tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match="cannot write"):
        StreamsBuilder().stream("in").print(path=tmp_path / "missing" / "file")


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.filter(None),
        lambda s: s.map(lambda key: key),
        lambda s: s.map_values(lambda key, value: value),
        lambda s: s.map_values(lambda value: value, with_key=True),
        lambda s: s.merge(None),
        lambda s: s.to(None),
        lambda s: s.to(lambda key: "t"),
        lambda s: s.process(None),
        lambda s: s.process(Forward, stores=[None]),
        lambda s: s.join(None, first),
        lambda s: s.filter(first, nmae="x"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused_where_they_are_given(call: Any) -> None:
    with pytest.raises(OperatorTypeError) as caught:
        call(StreamsBuilder().stream("in"))
    assert caught.value.at is not None
    assert "test_kstream.py" in caught.value.at


def test_a_supplier_must_give_new_processors() -> None:
    processor = Forward()
    with pytest.raises(ArgumentError, match="same processor"):
        StreamsBuilder().stream("in").process(lambda: processor)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "ü", "n" * 250])
def test_names_must_be_legal(name: str) -> None:
    with pytest.raises(TopologyError):
        StreamsBuilder().stream("in").filter(first, name=name)


def test_a_topology_of_streams_can_be_pickled() -> None:
    builder = StreamsBuilder()
    stream = builder.stream("in").filter(lambda key, value: value).select_key(first)
    branches = stream.split(name="S-").branch(lambda key, value: True).default_branch()
    branches["S-1"].process_values(Forward).to("out")
    topology = builder.build()
    copy = cloudpickle.loads(cloudpickle.dumps(topology))
    assert str(copy.describe()) == str(topology.describe())


def test_a_stream_is_no_topic() -> None:
    builder = StreamsBuilder()
    with pytest.raises(OperatorTypeError, match=r"to\(\) writes to a topic, not to <KStream") as caught:
        builder.stream("in").to(builder.stream("other"))  # type: ignore[arg-type]
    assert caught.value.hint == 'Give the name of a topic: to("out"). Two streams become one with merge().'
    assert __file__ in str(caught.value.at)
