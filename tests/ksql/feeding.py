"""Queries over records in memory, one after another: each gets its topics record by record."""

from __future__ import annotations

from typing import Any

from headrace.serde.registry import SchemaRegistry
from headrace.sql.build.queries import streams_config, topology_of
from headrace.sql.engine.engine import SqlEngine
from headrace.sql.engine.ports import NewRecord, PersistentQuery
from headrace.sql.planning import steps as s
from headrace.sql.planning.as_json import plan_as_json, plan_from_json
from headrace.sql.planning.plans import QueryPlan, StatementPlan
from headrace.sql.processing_log import ProcessingLog
from headrace.testing import TopologyTestDriver
from headrace.topology import Topology
from tests.ksql.cases import Case
from tests.ksql.internal_topics import Inside, inside
from tests.ksql.memory import MemoryTopics

CONFIG = {
    "statestore.cache.max.bytes": 0,
    # ksqlDB's recorded results were made with Kafka's pauses and a clock that stands still.
    "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__": 1000,
    "__emit.interval.ms.kstreams.windowed.aggregation__": 1000,
}


class Feeding:
    """Runs the queries of a case."""

    def __init__(self, case: Case, topics: MemoryTopics, engine: SqlEngine, registry: SchemaRegistry) -> None:
        self._case, self._topics, self._engine, self._registry = case, topics, engine, registry
        self.internal_topics: set[str] = set()
        self.inside: list[tuple[str, Inside]] = []

    def run(self, query: PersistentQuery) -> None:
        """Give the query all its records, and keep what it writes."""
        plan = _through_json(query)
        sources = {step.topic_name for step in sources_of(plan.physical_plan)}
        topology = topology_of(plan, self._engine.functions, ProcessingLog(), self._registry, query.settings)
        config: dict[str, Any] = {**CONFIG, **streams_config(plan.query_id, query.settings)}
        self.inside += [(config["application.id"], each) for each in inside(plan.physical_plan)]
        self._keep(self.written(topology, config, self._records(sources)), plan)

    def written(
        self, topology: Topology, config: dict[str, Any], records: list[tuple[str, NewRecord]]
    ) -> list[tuple[str, NewRecord]]:
        """What the topology writes when it gets the records one after another, with the topics that it goes to."""
        with TopologyTestDriver(topology, config, wall_clock_ms=0) as driver:
            for topic, record in records:
                driver.pipe_record(topic, record.key, record.value, record.timestamp, record.headers)
            return [
                (each.topic, NewRecord(each.key, each.value, each.timestamp or 0, each.headers))
                for each in driver.produced
            ]

    def _records(self, sources: set[str]) -> list[tuple[str, NewRecord]]:
        """First the inputs of the case in their order, then topics that other queries or INSERT VALUES filled."""
        counts: dict[str, int] = {}
        found = []
        for said in self._case.node["inputs"]:
            topic = said["topic"]
            number = counts[topic] = counts.get(topic, -1) + 1
            if topic in sources:
                found.append((topic, self._topics.records[topic][number]))
        for topic in sorted(sources - set(counts)):
            found += [(topic, record) for record in self._topics.records.get(topic, ())]
        return found

    def _keep(self, written: list[tuple[str, NewRecord]], plan: QueryPlan) -> None:
        step = plan.physical_plan
        sink = step.topic_name if isinstance(step, s.StreamSink | s.TableSink) else None
        for topic, record in written:
            if topic == sink:
                self._topics.append(topic, record)
            else:
                self.internal_topics.add(topic)


def _through_json(query: PersistentQuery) -> QueryPlan:
    """The plan as it is when it was written down and read again."""
    written = plan_as_json(StatementPlan(query.statement_text, None, query.plan))
    plan = plan_from_json(written).query_plan
    assert plan is not None
    return plan


def sources_of(step: s.Step) -> list[s.SourceStep]:
    below = s.inputs(step)
    if not below:
        return [step]  # type: ignore[list-item]  # only sources have nothing below them
    return [source for each in below for source in sources_of(each)]
