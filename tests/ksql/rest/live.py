"""Queries over topics in memory that stay open, so that their stores can be asked."""

from __future__ import annotations

from typing import Any

from headrace.partitioning import default_partition
from headrace.serde.registry import SchemaRegistry
from headrace.sql.build.queries import streams_config, topology_of
from headrace.sql.catalog.sources import Source
from headrace.sql.engine.engine import SqlEngine
from headrace.sql.engine.ports import NewRecord, PersistentQuery
from headrace.sql.formats.rows import key_serde
from headrace.sql.planning import steps as s
from headrace.sql.processing_log import ProcessingLog
from headrace.sql.push.plan import PushPlan
from headrace.sql.push.run import push_topology
from headrace.state.contracts import StoreIterator
from headrace.testing import TopologyTestDriver
from headrace.windows import Windowed
from tests.ksql.feeding import CONFIG, sources_of
from tests.ksql.memory import MemoryTopics


class LiveQueries:
    """The queries of a case, each with all records that there are for it."""

    def __init__(self, topics: MemoryTopics, engine: SqlEngine, order: list[str]) -> None:
        self._topics, self._engine, self._order = topics, engine, order
        self._drivers: dict[str, TopologyTestDriver] = {}

    def run(self, query: PersistentQuery) -> None:
        """Give a query its records, and keep what it writes."""
        topology = topology_of(
            query.plan, self._engine.functions, ProcessingLog(), self._engine.registry, query.settings
        )
        driver = self._drivers[query.id] = self._driver(topology, query.id, query.settings)
        self._pipe(driver, query.plan.physical_plan)
        step = query.plan.physical_plan
        for record in driver.produced:
            if isinstance(step, s.StreamSink | s.TableSink) and record.topic == step.topic_name:
                made = NewRecord(record.key, record.value, record.timestamp or 0, record.headers)
                self._topics.append(record.topic, made)

    def store(self, query_id: str, name: str, source: Source) -> Any:
        """A store of a query that runs, with the rows of a table."""
        first = sources_of(self._engine.queries[query_id].plan.physical_plan)[0]
        count = self._topics.partitions(first.topic_name) or 1
        return ByPartition(self._drivers[query_id].store(name), source, self._engine.registry, count)

    def pushed(self, plan: PushPlan, settings: dict[str, Any]) -> list[tuple[Any, list[Any] | None]]:
        """The rows of a push query over all records that there are."""
        found: list[tuple[Any, list[Any] | None]] = []
        topology = push_topology(
            plan,
            "transient",
            lambda key, row: found.append((key, row)),
            self._engine.functions,
            ProcessingLog(),
            self._engine.registry,
            settings,
        )
        with self._driver(topology, "transient", settings) as driver:
            self._pipe(driver, plan.step)
        return found

    def close(self) -> None:
        """Close all of them."""
        for driver in self._drivers.values():
            driver.close()

    def _driver(self, topology: Any, query_id: str, settings: Any) -> TopologyTestDriver:
        return TopologyTestDriver(topology, {**CONFIG, **streams_config(query_id, settings)}, wall_clock_ms=0)

    def _pipe(self, driver: TopologyTestDriver, step: s.Step) -> None:
        topics = {source.topic_name for source in sources_of(step)}
        waiting = {topic: iter(self._topics.records.get(topic, ())) for topic in topics}
        # The inputs of a case come in their order, whatever topic they are for.
        for topic in [*self._order, *sorted(topics)]:
            for record in _next(waiting, topic, only_one=topic in self._order and topic in topics):
                driver.pipe_record(topic, record.key, record.value, record.timestamp, record.headers)


class ByPartition:
    """A store whose entries come one partition after another, as if there were several."""

    def __init__(self, store: Any, source: Source, registry: SchemaRegistry | None, count: int) -> None:
        self._store = store
        self._count = count
        self._keys = key_serde(source.schema.key, source.key_format, registry=registry)
        self._topic = source.topic

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def all(self) -> StoreIterator[Any, Any]:
        """All entries."""
        with self._store.all() as found:
            entries = sorted(found, key=lambda entry: self._partition(entry[0]))
        return StoreIterator(iter(entries), lambda: None)

    def _partition(self, key: Any) -> int:
        plain = key.key if isinstance(key, Windowed) else key
        return default_partition(self._keys.serialize(self._topic, plain) or b"", self._count)


def _next(waiting: dict[str, Any], topic: str, *, only_one: bool) -> list[NewRecord]:
    rest = waiting.get(topic)
    if rest is None:
        return []
    return [record for record in (next(rest, None),) if record is not None] if only_one else list(rest)
