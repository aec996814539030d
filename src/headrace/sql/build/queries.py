"""A query to its topology."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from headrace.dsl.builder import StreamsBuilder
from headrace.serde.registry import SchemaRegistry
from headrace.settings import REQUIRED, SETTINGS
from headrace.sql.build import aggregates, joins, sinks, sources, streams, tables
from headrace.sql.build.context import BuildContext
from headrace.sql.build.views import StreamView, TableView, View
from headrace.sql.functions.registry import Registry
from headrace.sql.planning import steps as s
from headrace.sql.planning.plans import QueryPlan
from headrace.sql.processing_log import ProcessingLog
from headrace.sql.settings import OF_SOURCES, STREAMS
from headrace.topology import Topology

SHAPING = {"__enable.process.processValue.fix__": True}
"""What shapes the topologies of ksqlDB and is not the default of Kafka Streams."""


def service_prefix(settings: Mapping[str, Any]) -> str:
    """How the names of all that a service has on its broker begin; so several have one broker."""
    return f"_confluent-ksql-{settings.get('ksql.service.id', 'default_')}"


def application_id(query_id: str, settings: Mapping[str, Any]) -> str:
    """The application that a query is; the names of its internal topics begin with it."""
    prefix = settings.get("ksql.persistent.prefix", "query_")
    return f"{service_prefix(settings)}{prefix}{query_id}"


def streams_config(query_id: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """How the application of a query is configured. A record that cannot be read is skipped, unless it is to fail.

    As in ksqlDB, a setting of Kafka Streams may go without its prefix; the one that has it comes first.
    """
    bare = {name: value for name, value in settings.items() if name in SETTINGS and name not in REQUIRED}
    prefixed = {name.removeprefix(STREAMS): value for name, value in settings.items() if name.startswith(STREAMS)}
    said = {**bare, **prefixed}
    for name in OF_SOURCES:
        said.pop(name, None)
    fails = str(settings.get("ksql.fail.on.deserialization.error", False)).lower() == "true"
    return {
        "application.id": application_id(query_id, settings),
        "deserialization.exception.handler": "log_and_fail" if fails else "log_and_continue",
        **{name: int(value) if str(value).isdigit() else value for name, value in said.items()},
    }


def topology_of(
    plan: QueryPlan,
    functions: Registry,
    log: ProcessingLog,
    registry: SchemaRegistry | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Topology:
    """The topology of a query."""
    builder = StreamsBuilder(SHAPING)
    context = BuildContext(plan.query_id, builder, functions, log, registry, settings or {})
    Build(context, plan.physical_plan).query()
    return builder.build({"topology.optimization": "all"})


class Build:
    """Builds the steps of one query, each after those below it: the order draws the numbers in names."""

    def __init__(self, context: BuildContext, root: s.Step) -> None:
        self._context = context
        self._root = root
        self._rekeyed = _rekeyed_sources(root)
        self._only_present = _inputs_of_windows(root)

    def query(self) -> View | None:
        """All steps; the last view, where the query writes to no topic."""
        match self._root:
            case s.StreamSink(source=source):
                sinks.stream(self._root, self.stream(source), self._context)
            case s.TableSink(source=source):
                sinks.table(self._root, self.table(source), self._context)
            case _:
                return self.view(self._root)
        return None

    def stream(self, step: s.StreamStep) -> StreamView:
        """A step that gives a stream."""
        return cast("StreamView", self.view(step))

    def table(self, step: s.TableStep) -> TableView:
        """A step that gives a table."""
        return cast("TableView", self.view(step))

    def view(self, step: s.Step) -> View:
        """What a step gives, with all steps below it."""
        match step:
            case s.StreamSource() | s.WindowedStreamSource():
                return sources.stream(step, self._context)
            case s.TableSource() | s.WindowedTableSource():
                is_rekeyed = any(step is each for each in self._rekeyed)
                return sources.table(step, self._context, is_rekeyed=is_rekeyed)
            case s.StreamStreamJoin() | s.TableTableJoin() | s.ForeignKeyTableTableJoin():
                left, right = self.view(step.left_source), self.view(step.right_source)
                return cast("View", _JOINS[type(step)](step, left, right, self._context))
            case s.StreamTableJoin():
                right_table = self.table(step.right_source)
                return joins.stream_table(step, self.stream(step.left_source), right_table, self._context)
            case s.StreamSelect():
                only_present = any(step is each for each in self._only_present)
                return streams.select(step, self.stream(step.source), self._context, only_present=only_present)
            case _:
                (below,) = s.inputs(step)
                return cast("View", _OPERATIONS[type(step)](step, self.view(below), self._context))


_JOINS: dict[type, Callable[..., Any]] = {
    s.StreamStreamJoin: joins.stream_stream,
    s.TableTableJoin: joins.table_table,
    s.ForeignKeyTableTableJoin: joins.foreign_key,
}
_OPERATIONS: dict[type, Callable[..., Any]] = {
    s.StreamFilter: streams.filtered,
    s.StreamFlatMap: streams.flat_map,
    s.StreamSelectKey: streams.select_key,
    s.StreamGroupByKey: streams.group_by_key,
    s.StreamGroupBy: streams.group_by,
    s.StreamAggregate: aggregates.stream,
    s.StreamWindowedAggregate: aggregates.windowed,
    s.TableSelect: tables.select,
    s.TableFilter: tables.filtered,
    s.TableSelectKey: tables.select_key,
    s.TableGroupBy: tables.group_by,
    s.TableAggregate: aggregates.table,
}


def _rekeyed_sources(root: s.Step) -> list[s.Step]:
    """The sources that get another key before they are joined; they need no store of their own."""
    rekeying = (step for step in s.walked(root) if isinstance(step, s.TableSelectKey | s.StreamSelectKey))
    return [source for source in map(_only_source, rekeying) if source is not None]


def _inputs_of_windows(root: s.Step) -> list[s.Step]:
    """What is grouped by its key and aggregated in windows, where records without a row would count as rows."""
    windowed = (step.source for step in s.walked(root) if isinstance(step, s.StreamWindowedAggregate))
    return [group.source for group in windowed if isinstance(group, s.StreamGroupByKey)]


def _only_source(step: s.Step) -> s.Step | None:
    """The source that all rows of the step come from; None below a join."""
    below = s.inputs(step)
    while below:
        if len(below) > 1:
            return None
        (step,) = below
        below = s.inputs(step)
    return step
