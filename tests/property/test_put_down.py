"""A task that is put down after every batch and taken up by another object does what one that stays open does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.state.rocksdb.task_databases import FAILPOINTS
from headrace.state.rocksdb.visits import CHUNK_BYTES
from headrace.state.shared_memory import release_memory
from tests.property.operators import PARTS, Part
from tests.property.visiting import Batch, Input, Plan, Program, cut_as_visited, put_down, stay_open

EVERY_PART = pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
FEW = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])

KEYS = st.sampled_from(["a", "b", "c", "a", None])
VALUES = st.sampled_from(["x", "y", "z", "a", "b", None])
HEADERS = st.none() | st.just(b"1")


@st.composite
def batches(draw: st.DrawFn, program: Program) -> list[Batch]:
    """Batches whose times move on, so that windows close and records come late."""
    found, time = [], 0
    topics = st.sampled_from(program.topics)
    for _ in range(draw(st.integers(1, 6))):
        times = st.integers(time, time + 40)
        records = st.lists(st.builds(Input, topics, KEYS, VALUES, times, HEADERS), max_size=8)
        found.append(Batch(draw(records), draw(st.sampled_from([0, 10, 1500]))))
        time += draw(st.integers(0, 30))
    return found


@st.composite
def programs(draw: st.DrawFn, parts: tuple[Part, ...]) -> Program:
    """With caches and without, in memory and in RocksDB, with and without the pause between looks at closed windows."""
    emit_ms = draw(st.sampled_from([0, 1000]))
    return Program(
        parts,
        (
            ("dsl.store.suppliers.class", draw(st.sampled_from(["rocksDB", "in_memory"]))),
            # Optimised, a self-join has an operator of its own.
            ("topology.optimization", draw(st.sampled_from(["none", "all"]))),
            ("statestore.cache.max.bytes", draw(st.sampled_from([0, 400, 1_000_000]))),
            ("__emit.interval.ms.kstreams.outer.join.spurious.results.fix__", emit_ms),
            ("__emit.interval.ms.kstreams.windowed.aggregation__", emit_ms),
        ),
    )


CHUNKS = st.sampled_from([150, CHUNK_BYTES])
CRASHES = st.lists(st.none() | st.tuples(st.sampled_from(FAILPOINTS), st.integers(1, 3)), min_size=6, max_size=6).map(
    tuple
)


@contextmanager
def directories() -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory(dir=_base()) as directory:
        open_dir, put_down_dir = Path(directory) / "open", Path(directory) / "put-down"
        try:
            yield open_dir, put_down_dir
        finally:
            release_memory(put_down_dir.parent)


def _base() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def check(program: Program, found: Sequence[Batch], plan: Plan) -> None:
    with directories() as (open_dir, put_down_dir):
        expected = stay_open(program, cut_as_visited(found, plan.levels), open_dir)
        result = put_down(program, found, put_down_dir, plan)

    assert [record for batch in result.produced for record in batch] == [
        record for batch in expected.produced for record in batch
    ]
    assert result.dropped == expected.dropped
    assert result.offsets == expected.offsets
    assert result.stores == expected.stores


@EVERY_PART
@FEW
@given(data=st.data())
def test_a_task_put_down_after_every_batch_does_what_one_that_stays_open_does(part: Part, data: st.DataObject) -> None:
    program = data.draw(programs((part,)))
    plan = Plan(levels=data.draw(st.sampled_from([1, 2])), chunk_bytes=data.draw(CHUNKS))

    check(program, data.draw(batches(program)), plan)


@EVERY_PART
@FEW
@given(data=st.data())
def test_an_attempt_that_crashed_leaves_no_trace(part: Part, data: st.DataObject) -> None:
    program = data.draw(programs((part,)))
    plan = Plan(data.draw(CRASHES), data.draw(st.sampled_from([1, 2])), data.draw(CHUNKS))

    check(program, data.draw(batches(program)), plan)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_several_operators_in_one_task_are_put_down_together(data: st.DataObject) -> None:
    parts = data.draw(st.lists(st.sampled_from(PARTS), min_size=2, max_size=4, unique=True))
    program = data.draw(programs(tuple(parts)))
    plan = Plan(data.draw(CRASHES), data.draw(st.sampled_from([1, 2])), data.draw(CHUNKS))

    check(program, data.draw(batches(program)), plan)
