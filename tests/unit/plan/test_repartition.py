from __future__ import annotations

from headrace.plan.builder import GraphBuilder
from headrace.plan.repartition import drop_null_keys, repartition_spec
from headrace.topology import Topology


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
