"""Repartition topics: their names and the nodes around them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headrace.plan import names
from headrace.plan.graph import RepartitionSpec, Step
from headrace.processors.filter import Filter, has_key

if TYPE_CHECKING:
    from headrace.plan.builder import GraphBuilder
    from headrace.serde import Serde

_GENERATED_NODE = re.compile(r"KSTREAM.*-[0-9]{10}")
_GENERATED = re.compile(r".*-[0-9]{10}(-repartition)?")


def repartition_spec(
    builder: GraphBuilder,
    base_name: str,
    key_serde: Serde[Any] | None,
    value_serde: Serde[Any] | None,
    *,
    partitioner: Any = None,
    partitions: int | None = None,
    optimizable: bool = True,
    provided_by_user: bool | None = None,
) -> RepartitionSpec:
    """A repartition through ``<base_name>-repartition``; draws three numbers whatever the names.

    ``provided_by_user`` says whether the user chose the name; without it, one that ends in a number counts as
    generated. Until the optimiser knows that no join wants them, records without a key pass the filter.
    """
    suffix = names.REPARTITION_SUFFIX
    topic = base_name if base_name.endswith(suffix) else base_name + suffix
    if provided_by_user is None:
        provided_by_user = _GENERATED.fullmatch(base_name) is None
    if not provided_by_user:
        builder.topology.note_implicit_names(repartition_topic=topic)
    sink = builder.new_processor_name(names.SINK)
    null_filter = builder.new_processor_name(names.FILTER)
    source = builder.new_processor_name(names.SOURCE)
    if not _GENERATED_NODE.fullmatch(base_name):
        sink, null_filter, source = f"{topic}-sink", f"{topic}-filter", f"{topic}-source"
    return RepartitionSpec(
        topic=topic,
        sink_name=sink,
        source_name=source,
        filter_step=Step(null_filter, Filter(accept_all)),
        key_serde=key_serde,
        value_serde=value_serde,
        partitioner=partitioner,
        partitions=partitions,
        optimizable=optimizable,
    )


def drop_null_keys(spec: RepartitionSpec) -> None:
    spec.filter_step = Step(spec.filter_step.name, Filter(has_key))


def accept_all(key: Any, value: Any) -> bool:
    return True
