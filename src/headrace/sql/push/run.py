"""The topology of a push query: what it ends in is a function that is told of each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.dsl.builder import StreamsBuilder
from headrace.serde.registry import SchemaRegistry
from headrace.sql.build.context import BuildContext
from headrace.sql.build.queries import SHAPING, Build
from headrace.sql.build.views import StreamView, TableView
from headrace.sql.functions.registry import Registry
from headrace.sql.processing_log import ProcessingLog
from headrace.sql.push.plan import PushPlan
from headrace.topology import Topology

Told = Callable[[Any, list[Any] | None], None]
"""Called with the key and the row of the answer; a table tells of a row that goes with None."""


def push_topology(
    plan: PushPlan,
    query_id: str,
    told: Told,
    functions: Registry,
    log: ProcessingLog,
    registry: SchemaRegistry | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Topology:
    """The topology that tells ``told`` of each row. It stays in this process: a function cannot be sent."""
    builder = StreamsBuilder(SHAPING)
    context = BuildContext(query_id, builder, functions, log, registry, settings or {})
    view = Build(context, plan.step).query()
    match view:
        case StreamView():
            view.stream.foreach(told)
        case TableView():
            view.table.to_stream().foreach(told)
        case _:
            message = f"{query_id} ends in a group"
            raise AssertionError(message)
    return builder.build({"topology.optimization": "all"})
