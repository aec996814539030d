"""A replica holds what the tasks hold, whatever the program, the batches and the number of partitions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.application.progress import Progress
from headrace.batch.local import LocalEngine
from headrace.broker import open_broker
from headrace.broker.port import Broker, NewRecord
from headrace.query.layout import store_layouts
from headrace.query.replicas import Replicas
from headrace.query.rows import rows_of
from headrace.records import Headers
from headrace.state.version import Version, Visit
from headrace.task.stream_task import StreamTask
from headrace.task.versioned_task import VersionedTask
from tests.property.operators import PARTS, Part, topology

# What operators keep for themselves has no rows.
ASKED = [part for part in PARTS if part.__name__ not in {"suppressed_table", "self_join"}]
STREAMS, TABLES = ("a", "b"), ("t", "u", "v")
TOPICS = STREAMS + TABLES
KEYS = st.sampled_from([b"a", b"b", b"c", b"d"])
VALUES = st.sampled_from([b"x", b"y", b"z"])
TIMES = st.integers(0, 60)
# Of a record without a value a stream join stores nothing, but logs it. As in Kafka Streams, whoever applies the
# changelog learns of its time, and lets older entries go that the task still has.
RECORDS = st.lists(
    st.tuples(st.sampled_from(STREAMS), KEYS, VALUES, TIMES)
    | st.tuples(st.sampled_from(TABLES), KEYS, VALUES | st.none(), TIMES),
    max_size=12,
)


class Silent:
    """Takes what a task that is only looked at might send."""

    def send(self, *record: Any) -> None: ...

    def partitions_for(self, topic: str) -> int:
        return 1

    def flush(self) -> None: ...


def held_by_tasks(engine: LocalEngine, broker: Broker) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every row of every store, as the tasks would find it in their next batch."""
    application = engine.application
    layouts = store_layouts(application)
    for task_id, progress in Progress(broker.last_decided(application.id)).tasks.items():
        plan = application.topology.task_plan(task_id.subtopology)
        task = StreamTask(
            plan,
            application.config,
            Silent(),
            partitions=application.topics.partitions_of(task_id),
            task_id=str(task_id),
            partition=task_id.partition,
            state_dir=application.state_dir(task_id),
        )
        versioned = VersionedTask(task)
        visit = Visit(progress.version, Version(progress.version.batch + 1))
        opening = versioned.open(visit, snapshot=progress.snapshot)
        assert not opening.stale
        versioned.start()
        for store in task.registry:
            if layouts[store.name].kind.is_readable:
                for row in rows_of(layouts[store.name], store, task_id.partition):
                    yield store.name, row
        versioned.abandon()


def held_by_replicas(replicas: Replicas) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, layout in replicas.layouts.items():
        if layout.kind.is_readable:
            for row in replicas.rows(name):
                yield name, row


def text(rows: Iterator[tuple[str, dict[str, Any]]]) -> list[str]:
    return sorted(map(str, rows))


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    parts=st.lists(st.sampled_from(ASKED), min_size=1, max_size=2, unique=True).map(tuple),
    batches=st.lists(RECORDS, min_size=1, max_size=2),
    partitions=st.sampled_from([1, 2]),
    kind=st.sampled_from(["rocksDB", "in_memory"]),
    form=st.sampled_from(["DEFAULT", "HEADERS"]),
    optimization=st.sampled_from(["none", "all"]),
    cache_bytes=st.sampled_from([0, 1_000_000]),
)
def test_replicas_hold_what_tasks_hold(
    parts: tuple[Part, ...],
    batches: list[list[tuple[str, bytes, bytes | None, int]]],
    partitions: int,
    kind: str,
    form: str,
    optimization: str,
    cache_bytes: int,
) -> None:
    with tempfile.TemporaryDirectory() as home:
        directory = Path(home)
        config = {
            "application.id": "app",
            "state.dir": str(directory / "state"),
            "dsl.store.suppliers.class": kind,
            "dsl.store.format": form,
            "topology.optimization": optimization,
            "statestore.cache.max.bytes": cache_bytes,
        }
        with closing(open_broker(f"embedded:{directory / 'broker'}", fsync="never")) as broker:
            for topic in TOPICS:
                broker.create_topic(topic, partitions)
            with (
                LocalEngine(topology(parts, config), config, broker) as engine,
                Replicas.of(topology(parts, config), config, broker) as warm,
            ):
                for batch in batches:
                    broker.append(NewRecord(*record, headers=Headers([("h", b"1")])) for record in batch)
                    engine.run_until_idle()
                    engine.tasks.close()
                    expected = text(held_by_tasks(engine, broker))

                    assert text(held_by_replicas(warm)) == expected
                with Replicas.of(topology(parts, config), config, broker) as cold:
                    assert text(held_by_replicas(cold)) == expected
