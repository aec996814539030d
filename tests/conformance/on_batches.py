"""Runs a case on an engine, batch by batch, beside its reference, and compares what each batch wrote.

Without caches every record is compared: where tasks do not send to each other, those of every partition, each task's in
their order; else those of every key in their order. Changelogs are compared in the same way, byte by byte. With caches,
which hold back more or less depending on the batches, the tables at the end of each batch are compared. After every
batch the committed offsets are the ends of the topics.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from headrace import Topology
from headrace.application.layout import Application
from headrace.errors import HeadraceError
from tests.conformance.adapter import Program
from tests.conformance.agreement import Difference, in_order, per_key
from tests.conformance.case_inputs import WALL_CLOCK_MS, Advance, Input, Piped, inputs_of
from tests.conformance.cutting import Chunk, Cut, chunks_of, reading_order
from tests.conformance.engine_run import EngineRun
from tests.conformance.engines import EngineKind
from tests.conformance.errors import java_class
from tests.conformance.final_tables import final_tables
from tests.conformance.functions import TestError
from tests.conformance.judging import Judge, RecordJudge, TableJudge
from tests.conformance.printed import printed
from tests.conformance.program_facts import (
    buffer_changelogs,
    cut_for,
    has_repartition,
    keeps_attributes,
    reads_stream_time,
    sends_to_itself,
    shows_offsets_of_patterns,
    starts_before_its_input,
)
from tests.conformance.references import NO_THROTTLE, DriverReference, Reference, TaskReference, Written
from tests.conformance.shown_records import Showing
from tests.conformance.specs import Json

_SHARED_MEMORY = Path("/dev/shm")
_T = TypeVar("_T")
_R = TypeVar("_R", Piped, Written)


@dataclass(frozen=True)
class Layout:
    """How a case is run: over how many partitions, cut by which seed, with caches as it has them or with none."""

    partitions: int
    seed: int = 0
    caches: bool = False
    most_records: int = 12
    """The most that are appended before the engine runs."""
    is_limited: bool = True
    """Whether some runs let the engine take a few records at a time only."""

    def in_few_batches(self) -> Layout:
        """The same with as much in a batch as can be: a batch on Spark takes a while."""
        return replace(self, most_records=1000, is_limited=False)

    def can_run(self, case: Json) -> bool:
        """Whether there is something to compare: with caches only tables are."""
        return not self.caches or bool(final_tables(case))


class Failure(str):
    """The error that ended something: its class as the cases name it, and its text."""


def differences(case: Json, layout: Layout, kind: EngineKind) -> list[Difference]:
    """Where the engine and the reference part; the first batch in which they do ends the run."""
    base = _SHARED_MEMORY if _SHARED_MEMORY.exists() else None
    with tempfile.TemporaryDirectory(dir=base) as directory, printed([]), ExitStack() as closing:
        return _Comparison(case, layout, kind, Path(directory), closing).run()


class _Comparison:
    """One case on one engine."""

    def __init__(self, case: Json, layout: Layout, kind: EngineKind, directory: Path, closing: ExitStack) -> None:
        self._case, self._layout, self._directory, self._closing = case, layout, directory, closing
        self._kind = kind
        self._rng = random.Random(f"{case['name']}/{layout.partitions}/{layout.seed}")
        self._wall_clock_ms = case.get("wall_clock", WALL_CLOCK_MS)

    def run(self) -> list[Difference]:
        """Start both, feed both, compare."""
        inputs = self._inputs()
        engine = _attempt(self._start_engine)
        if isinstance(engine, Failure):
            return _compare_failures("start", _attempt(self._start_driver), engine)
        reference = _attempt(lambda: self._start_reference(engine))
        if isinstance(reference, Failure):
            return _compare_failures("start", reference, _attempt(lambda: engine.feed(_first(inputs))))
        return self._feed_both(engine, reference, inputs)

    def _feed_both(self, engine: EngineRun, reference: Reference, inputs: list[Input]) -> list[Difference]:
        application = engine.application
        buffers = buffer_changelogs(application.topology)
        judge = self._judge(application, buffers)
        showing = Showing(self._case, buffers if has_repartition(application.topics) else ())
        cut = cut_for(self._case, application.topology, application.topics, self._layout.partitions)
        for number, chunk in enumerate(self._chunks(inputs, cut, application.topics.global_topics)):
            wanted = _attempt(partial(self._feed_reference, reference, chunk, application.topics.global_topics))
            got = _attempt(partial(engine.feed, chunk))
            if isinstance(wanted, Failure) or isinstance(got, Failure):
                return _compare_failures(f"batch {number}", wanted, got)
            written = [self._stored(each) for each in wanted if each.topic not in application.repartition_topics]
            expected = [showing.written(each) for each in written]
            different = judge.judge(expected, [showing.logged(each) for each in got]) or engine.uncommitted()
            if different:
                return [{"batch": number, "cut": cut.name, **each} for each in different]
        return []

    def _judge(self, application: Application, buffers: set[str]) -> Judge:
        if self._layout.caches:
            return TableJudge(final_tables(self._case))
        agreement = per_key if sends_to_itself(application.topology, application.topics) else in_order
        return RecordJudge(agreement, buffers)

    # The two sides

    def _start_engine(self) -> EngineRun:
        topology, settings = self._program("engine")
        run = EngineRun(
            self._kind,
            topology,
            {**settings, **self._limit()},
            self._directory,
            topics={step["topic"] for step in self._case["inputs"] if "topic" in step},
            partitions=self._layout.partitions,
            other_partitions=self._rng.choice((1, self._layout.partitions)),
            wall_clock_ms=self._wall_clock_ms,
            starts_empty=starts_before_its_input(self._case),
        )
        self._closing.callback(run.close)
        return run

    def _start_driver(self) -> Reference:
        topology, settings = self._program("driver")
        driver = DriverReference(topology, settings, self._wall_clock_ms)
        self._closing.callback(_attempt, driver.close)
        return driver

    def _start_reference(self, engine: EngineRun) -> Reference:
        topics = engine.application.topics
        shares_its_time = len(topics.tasks) > 1 and reads_stream_time(self._case)
        if self._layout.partitions == 1 and not shares_its_time and not shows_offsets_of_patterns(self._case):
            return self._start_driver()
        topology, settings = self._program("tasks")
        directory = self._directory / "tasks"
        tasks = TaskReference(topology, settings, self._wall_clock_ms, topics, engine.partitions_for, directory)
        self._closing.callback(tasks.close)
        return tasks

    def _program(self, user: str) -> tuple[Topology, dict[str, Any]]:
        program = Program(self._case)
        if not self._layout.caches:
            program.config["statestore.cache.max.bytes"] = 0
        return program.build(), {**program.config, **NO_THROTTLE, "state.dir": f"{self._directory}/{user}"}

    def _limit(self) -> dict[str, int]:
        """Some runs take a few records at a time; that must not show."""
        if not self._layout.is_limited or keeps_attributes(self._case) or self._rng.random() < 0.5:
            return {}
        return {"max.records.per.batch": self._rng.randint(1, 5)}

    # Batches

    def _inputs(self) -> list[Input]:
        """Attributes of processors last for one batch, so the clock stands still where a program relies on them."""
        stands_still = keeps_attributes(self._case)
        inputs = [each for each in inputs_of(self._case) if not (stands_still and isinstance(each, Advance))]
        return [each if isinstance(each, Advance) else self._stored(each) for each in inputs]

    def _stored(self, record: _R) -> _R:
        """The record as the broker can store it."""
        is_early = 0 <= record.timestamp < self._kind.earliest_ms
        return record._replace(timestamp=self._kind.earliest_ms) if is_early else record

    def _chunks(self, inputs: list[Input], cut: Cut, global_topics: Iterable[str]) -> list[Chunk]:
        """The input cut at random. A record that is meant to fail is alone: its batch is undone as a whole.

        One that fails in a global store is left away: the store reads it when the next batch is due, and none is.
        """
        fails = self._case["expected"].get("error", {}).get("at", "").startswith("input") and cut is not Cut.WHOLE
        last = [[each] for each in inputs[-1:] if not isinstance(each, Advance)] if fails else []
        first = chunks_of(
            inputs[: len(inputs) - len(last)], cut, self._layout.partitions, self._rng, self._layout.most_records
        )
        return [*first, *(chunk for chunk in last if chunk[0].topic not in global_topics)]

    def _feed_reference(self, reference: Reference, chunk: Chunk, global_topics: Iterable[str]) -> list[Written]:
        if isinstance(chunk, Advance):
            reference.advance(chunk.ms)
        else:
            for record in reading_order(chunk, self._layout.partitions, global_topics):
                reference.pipe(record)
        return reference.take()


def _first(inputs: list[Input]) -> Chunk:
    return [each for each in inputs if not isinstance(each, Advance)][:1]


def _attempt(do: Callable[[], _T]) -> _T | Failure:
    try:
        return do()
    except (HeadraceError, TestError) as error:
        return Failure(f"{java_class(error)} {error}")


def _compare_failures(where: str, expected: Any, found: Any) -> list[Difference]:
    shown = [each if isinstance(each, Failure) else "no error" for each in (expected, found)]
    if shown[0].split(" ")[0] == shown[1].split(" ")[0]:
        return []
    return [{"where": where, "expected": shown[0], "found": shown[1]}]
