"""Counting whole batches equals counting record by record: in what is written and in what task and cache keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import StreamsBuilder, serdes
from headrace.batch.coded_columns import CodedColumns
from headrace.config import StreamsConfig
from headrace.processors.columns import Columns, RecordColumns
from headrace.processors.count_batches import CountBatches
from headrace.records import NO_HEADERS, Headers
from headrace.state.layers.caching import Caching
from headrace.state.snapshots import layers
from headrace.task import partition_group
from headrace.task.stream_task import StreamTask

Rows = list[tuple[str, int, int, int, Any, Any, Headers]]


def plain(builder: StreamsBuilder) -> None:
    builder.stream("in").group_by_key().count(store="counts").to_stream().to("out", value_serde=serdes.long())


def with_old_values(builder: StreamsBuilder) -> None:
    counts = builder.stream("in").group_by_key().count(store="counts")
    counts.filter(lambda key, count: count % 2 == 1, store="odd", value_serde=serdes.long()).to_stream().to(
        "out", value_serde=serdes.long()
    )


def two_counts(builder: StreamsBuilder) -> None:
    """They share the budget of one cache."""
    plain(builder)
    counts = builder.stream("other").group_by_key().count(store="others")
    counts.to_stream().to("out", value_serde=serdes.long())


def of_numbers(builder: StreamsBuilder) -> None:
    """Values that cannot all be read."""
    rows = builder.stream("in", value_serde=serdes.integer())
    rows.group_by_key().count(store="counts").to_stream().to("out", value_serde=serdes.long())


PROGRAMS = [plain, with_old_values, two_counts, of_numbers]

_row = st.tuples(
    st.sampled_from(["in", "in", "in", "other"]),
    st.integers(0, 40),
    st.sampled_from([b"a", b"b", b"c", b"d", b"e", b"longer", b"f", b"g"]) | st.sampled_from([None, b"\xff", b"\xfe"]),
    st.sampled_from([b"v", b"1234", b"4321", b"1111", b"a"]) | st.none(),
    st.sampled_from([NO_HEADERS] * 9 + [Headers([("h", b"1")])]),
)
_batches = st.lists(st.lists(_row, max_size=30), max_size=4)
_simple_batches = st.lists(
    st.lists(
        st.tuples(
            st.just("in"),
            st.integers(0, 9),
            st.sampled_from([b"%d" % n for n in range(9)]),
            st.just(b"1234"),
            st.just(NO_HEADERS),
        ),
        max_size=60,
    ),
    max_size=4,
)


class _Task:
    """A task, what it writes, and everything that can be seen of it."""

    def __init__(self, program: Callable[[StreamsBuilder], None], cache_bytes: int) -> None:
        builder = StreamsBuilder()
        program(builder)
        topology = builder.build()
        config = StreamsConfig(
            {
                "application.id": "app",
                "dsl.store.suppliers.class": "in_memory",
                "statestore.cache.max.bytes": cache_bytes,
                "deserialization.exception.handler": "log_and_continue",
            }
        )
        planned = topology.configured(config)
        self.written: list[Any] = []
        plan = planned.task_plan()
        self.partitions = [(topic, 0) for topic in plan.source_topics]
        self.task = StreamTask(plan, config, self, partitions=self.partitions, clock=lambda: 0)
        self.task.initialize()
        self.task.start()
        self._offset = 0

    def send(self, *record: Any) -> None:
        self.written.append(record)

    def partitions_for(self, topic: str) -> int:
        return 1

    def flush(self) -> None: ...

    def rows(self, batch: Any) -> Iterator[tuple[tuple[str, int], Rows]]:
        for partition in self.partitions:
            rows = [row for row in batch if row[0] == partition[0]]
            numbered = [(row[0], 0, self._offset + at, *row[1:]) for at, row in enumerate(rows)]
            self._offset += len(rows)
            if numbered:
                yield partition, numbered

    def seen(self) -> Any:
        task = self.task
        stores = list(task.registry)
        return (
            self.written,
            task.stream_time,
            task._group.partition_times,
            task._progress.consumed,
            task.context.record_context,
            task.context.cache.size_bytes,
            dict(task.context.metrics.dropped_records_by_reason),
            [(queue.consumed.records, queue.consumed.size) for queue in map(task._group.queue, self.partitions)],
            [str(store.position) for store in stores],
            [_cached(layer) for store in stores for layer in layers(store) if isinstance(layer, Caching)],
        )


def _cached(layer: Any) -> Any:
    cache = layer._cache
    entries = [(key, entry.value, entry.context, entry.dirty) for key, entry in cache._entries.items()]
    return entries, list(cache._dirty), cache.size_bytes, sorted(cache._keys.entries)


def _coded(columns: RecordColumns) -> Columns:
    """The same with keys as numbers, where they can be."""
    if columns.headers is not None or None in columns.keys:
        return columns
    keys: Any = columns.keys
    distinct = [b"of no record", *dict.fromkeys(keys)]
    codes = pa.array(map(distinct.index, keys), pa.int32())
    values = None if keys == columns.values else columns.values
    times = pa.array(columns.timestamps, pa.int64())
    return CodedColumns(columns.topic, columns.partition, columns.offsets, times, codes, distinct, values)


def _in_columns(program: Any, batches: Any, cache_bytes: int, coded: bool = False) -> Iterator[Any]:
    run = _Task(program, cache_bytes)
    for batch in batches:
        for partition, rows in run.rows(batch):
            for part in _parts(rows):
                columns = RecordColumns.of(part)
                assert columns is not None
                run.task.add_columns(partition, _coded(columns) if coded else columns)
            run.task.process_all(0)
        yield run.seen()
        yield run.task.prepare_commit()
        run.task.post_commit()
        yield run.seen()


def _one_by_one(program: Any, batches: Any, cache_bytes: int) -> Iterator[Any]:
    run = _Task(program, cache_bytes)
    for batch in batches:
        for partition, rows in run.rows(batch):
            for part in _parts(rows):
                run.task.add_records(partition, part)
            while run.task.process(0):
                pass
        yield run.seen()
        yield run.task.prepare_commit()
        run.task.post_commit()
        yield run.seen()


def _parts(rows: Rows) -> list[Rows]:
    middle = len(rows) // 2
    return [part for part in (rows[:middle], rows[middle:]) if part]


@contextmanager
def _tried_down_to(few: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partition_group, "FEW_RECORDS", few)
        yield


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@settings(max_examples=100, deadline=None)
@given(
    batches=_batches | _simple_batches,
    cache_bytes=st.integers(0, 1500) | st.just(10_000_000),
    few=st.integers(1, 8),
    coded=st.booleans(),
)
def test_a_batch_is_counted_as_its_records_one_by_one(
    program: Any, batches: Any, cache_bytes: int, few: int, coded: bool
) -> None:
    with _tried_down_to(few):
        for found, expected in zip(
            _in_columns(program, batches, cache_bytes, coded), _one_by_one(program, batches, cache_bytes), strict=True
        ):
            assert found == expected


def test_batches_are_counted_at_once_also_where_the_cache_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    take = CountBatches.take

    def counting(self: CountBatches, columns: RecordColumns) -> bool:
        is_taken = take(self, columns)
        taken.append(len(columns) if is_taken else 0)
        return is_taken

    monkeypatch.setattr(CountBatches, "take", counting)
    batch = [("in", 0, b"%d" % (n % 97), b"v", NO_HEADERS) for n in range(1000)]
    with _tried_down_to(8):
        found = list(_in_columns(plain, [batch], 4000))
    assert found == list(_one_by_one(plain, [batch], 4000))
    assert sum(taken) > 500
