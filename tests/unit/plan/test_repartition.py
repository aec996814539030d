from __future__ import annotations

import pytest

from headrace.dsl.builder import StreamsBuilder
from headrace.plan.builder import GraphBuilder
from headrace.plan.repartition import drop_null_keys, repartition_spec
from headrace.processors.api import FixedKeyProcessor, Processor
from headrace.topology import Topology

_SWITCH = "__enable.process.processValue.fix__"


def test_generated_names_where_the_base_was_generated() -> None:
    spec = repartition_spec(GraphBuilder(Topology()), "KSTREAM-MAP-0000000001", None, None)
    assert spec.topic == "KSTREAM-MAP-0000000001-repartition"
    assert (spec.sink_name, spec.filter_step.name, spec.source_name) == (
        "KSTREAM-SINK-0000000000",
        "KSTREAM-FILTER-0000000001",
        "KSTREAM-SOURCE-0000000002",
    )


def test_names_after_the_topic_where_the_user_named_it_and_numbers_are_drawn_all_the_same() -> None:
    builder = GraphBuilder(Topology())
    spec = repartition_spec(builder, "mine", None, None)
    assert (spec.sink_name, spec.filter_step.name, spec.source_name) == (
        "mine-repartition-sink",
        "mine-repartition-filter",
        "mine-repartition-source",
    )
    assert builder.new_processor_name("X-") == "X-0000000003"


def test_a_topic_gets_its_suffix_only_once() -> None:
    assert repartition_spec(GraphBuilder(Topology()), "mine-repartition", None, None).topic == "mine-repartition"


def test_keyless_records_pass_until_told_otherwise() -> None:
    spec = repartition_spec(GraphBuilder(Topology()), "mine", None, None)
    assert spec.filter_step.supplier.predicate(None, "value")
    drop_null_keys(spec)
    assert not spec.filter_step.supplier.predicate(None, "value")
    assert spec.filter_step.supplier.predicate("key", None)


@pytest.mark.parametrize(("is_on", "repartition_is_below"), [(True, True), (False, False)])
def test_a_repartition_stays_below_process_values_where_that_counts_as_changing_values(
    is_on: bool, repartition_is_below: bool
) -> None:
    builder = StreamsBuilder({_SWITCH: is_on, "application.id": "test"})
    stream = builder.stream("in").map(lambda key, value: (value, key)).process_values(FixedKeyProcessor, name="mine")
    stream.group_by_key(name="grouped").count()
    text = str(builder.build({"topology.optimization": "all"}).describe())
    written = next(line for line in text.splitlines() if "-->" in line and "grouped-repartition-filter" in line)
    assert ("Processor: mine" in text.partition(written)[0].splitlines()[-1]) is repartition_is_below


def test_process_causes_one_repartition_for_all_below_where_it_counts_as_changing_keys() -> None:
    def repartitions(*, is_on: bool) -> int:
        builder = StreamsBuilder({_SWITCH: is_on, "application.id": "test"})
        stream = builder.stream("in").process(Processor)
        stream.group_by_key(name="one").count()
        stream.group_by_key(name="two").count()
        return str(builder.build({"topology.optimization": "all"}).describe()).count("Sink:")

    assert (repartitions(is_on=True), repartitions(is_on=False)) == (1, 2)
