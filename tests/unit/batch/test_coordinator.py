"""What is committed must fit together: nobody has read what another attempt sent."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from headrace.batch.coordinator import Coordinator
from headrace.batch.failures import WorkerTraceback, pack_failure, unpack_failure
from headrace.batch.global_stores import GlobalStores
from headrace.batch.level import Level, read_result
from headrace.batch.parcels import Kind, Parcel
from headrace.batch.reading_plan import Planner, parcels, reading_plan
from headrace.errors import ProcessingError, TaskMigratedError
from headrace.task.clock import system_clock
from tests.integration.batch.programs import append, final_counts, open_at, settings, word_count


def test_refuses_a_batch_in_which_a_task_ran_twice_and_takes_the_next_try(tmp_path: Path) -> None:
    """Its worker was lost after another one had read from it."""
    broker = open_at(tmp_path)
    broker.create_topic("lines")
    append(broker, "lines", [(None, "a b")])
    coordinator = Coordinator(word_count(), settings(tmp_path), broker, system_clock)
    application = coordinator.application
    planner = Planner(reading_plan(application), broker)
    readings = parcels(reading_plan(application), planner.next_batch(0))
    batch = coordinator.order()

    def run(level: int, given: list[Parcel]) -> list[Parcel]:
        stores = GlobalStores(application, broker, system_clock).at([])
        return list(Level(application, batch, level, broker, clock=system_clock, global_stores=stores).run(given))

    first, second = run(0, readings), run(0, readings)
    heard_first = [each for each in run(1, first) if each.kind == Kind.RESULT and each.level == 1]
    result_of_second = [each for each in second if each.kind == Kind.RESULT]
    with pytest.raises(TaskMigratedError, match="ran twice"):
        coordinator.commit(batch, [*result_of_second, *heard_first])
    assert broker.last_committed("app") is None

    report = coordinator.commit(batch, run(1, second))
    assert (report.records, report.written, report.visits) == (1, 2, 2)
    assert final_counts(broker) == {"a": 1, "b": 1}


def test_a_result_survives_the_way_to_the_driver(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines")
    append(broker, "lines", [(None, "a b")])
    coordinator = Coordinator(word_count(), settings(tmp_path), broker, system_clock)
    plan = reading_plan(coordinator.application)
    level = Level(coordinator.application, coordinator.order(), 0, broker, clock=system_clock, global_stores={})
    result = next(
        each for each in level.run(parcels(plan, Planner(plan, broker).next_batch(0))) if each.kind == Kind.RESULT
    )
    assert msgspec.msgpack.encode(read_result(result.data)) == result.data


def test_an_error_keeps_its_class_its_place_and_the_traceback_of_the_worker() -> None:
    def fail() -> None:
        raise ProcessingError("processing failed", detail="x", hint="y", at="node MAP, record t-0@7")

    with pytest.raises(ProcessingError) as raised:
        fail()
    error = unpack_failure(pack_failure(raised.value))
    assert isinstance(error, ProcessingError)
    assert (error.message, error.detail, error.hint, error.at) == (
        "processing failed",
        "x",
        "y",
        "node MAP, record t-0@7",
    )
    assert isinstance(error.__cause__, WorkerTraceback)
    assert "in fail" in str(error.__cause__)
