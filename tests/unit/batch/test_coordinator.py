"""What is committed must fit together: nobody has read what another attempt sent."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from headrace import StreamsBuilder
from headrace.application.global_stores import GlobalStores
from headrace.batch.coordinator import Coordinator
from headrace.batch.failures import WorkerTraceback, pack_failure, unpack_failure
from headrace.batch.level import Level, read_result
from headrace.batch.parcels import Kind, Parcel
from headrace.batch.visiting import OpenTasks
from headrace.broker.port import Decision, Outcome
from headrace.clock import now_ms
from headrace.errors import ProcessingError, StreamsError, TaskMigratedError
from headrace.state.directory_hold import last_used_ms
from headrace.testing import TopologyTestDriver
from tests.integration.batch.programs import append, final_counts, open_at, settings, word_count


def test_refuses_a_batch_in_which_a_task_ran_twice_and_takes_the_next_try(tmp_path: Path) -> None:
    """Its worker was lost after another one had read from it."""
    broker = open_at(tmp_path)
    broker.create_topic("lines")
    append(broker, "lines", [(None, "a b")])
    coordinator = Coordinator(word_count(), settings(tmp_path), broker, now_ms)
    application = coordinator.application
    plan = coordinator.plan()
    readings, batch = coordinator.parcels(plan), coordinator.begin()

    tasks = OpenTasks(application, broker)

    def run(level: int, given: list[Parcel]) -> list[Parcel]:
        stores = GlobalStores(application, broker, now_ms).at([])
        return list(Level(application, batch, level, tasks, clock=now_ms, global_stores=stores).run(given))

    first, second = run(0, readings), run(0, readings)
    heard_first = [each for each in run(1, first) if each.kind == Kind.RESULT and each.level == 1]
    result_of_second = [each for each in second if each.kind == Kind.RESULT]
    with pytest.raises(TaskMigratedError, match="ran twice"):
        coordinator.decide(batch, plan, [*result_of_second, *heard_first])
    assert broker.last_decided("app") is None

    report = coordinator.decide(batch, plan, run(1, second))
    assert (report.records, report.written, report.visits) == (1, 2, 2)
    assert final_counts(broker) == {"a": 1, "b": 1}


def test_a_decision_says_where_its_batch_began_though_nothing_was_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines")
    append(broker, "lines", [(None, "a b"), (None, "c")])
    given = settings(tmp_path, **{"consumer.auto.offset.reset": "latest"})
    coordinator = Coordinator(word_count(), given, broker, now_ms)
    decided: list[Decision] = []

    def decide(decision: Decision) -> Outcome:
        decided.append(decision)
        return Outcome.DONE

    monkeypatch.setattr(broker, "decide", decide)
    plan = coordinator.plan()
    coordinator.decide(coordinator.begin(), plan, [])
    assert decided[0].begins == {("lines", 0): 2}


def test_a_result_survives_the_way_to_the_driver(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines")
    append(broker, "lines", [(None, "a b")])
    coordinator = Coordinator(word_count(), settings(tmp_path), broker, now_ms)
    tasks = OpenTasks(coordinator.application, broker)
    level = Level(coordinator.application, coordinator.begin(), 0, tasks, clock=now_ms, global_stores={})
    result = next(each for each in level.run(coordinator.parcels(coordinator.plan())) if each.kind == Kind.RESULT)
    assert msgspec.msgpack.encode(read_result(result.data)) == result.data


def failed_in_a_driver(builder: StreamsBuilder) -> StreamsError:
    with TopologyTestDriver(builder.build(), {"statestore.cache.max.bytes": 0}) as driver:
        with pytest.raises(StreamsError) as raised:
            driver.create_input_topic("in").pipe_input("a", "x")
        return raised.value


def look_up(value: str) -> str:
    return {"y": "z"}[value]


def test_an_error_keeps_its_class_its_place_and_the_traceback_of_the_function() -> None:
    builder = StreamsBuilder()
    builder.stream("in").map_values(look_up, name="parse").to("out")
    failed = failed_in_a_driver(builder)

    error = unpack_failure(pack_failure(failed))

    assert type(error) is ProcessingError
    assert (error.message, error.hint, error.at) == ("KeyError: 'x'", failed.hint, failed.at)
    assert isinstance(error.__cause__, WorkerTraceback)
    trace = str(error.__cause__).strip().splitlines()
    assert trace[0] == "Traceback (most recent call last):"
    assert trace[1].endswith(", in look_up")
    assert trace[-1] == "KeyError: 'x'"
    assert not any("headrace/task" in line for line in trace)


def test_what_the_worker_did_around_it_is_shown_while_debugging(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = StreamsBuilder()
    builder.stream("in").map_values(look_up, name="parse").to("out")
    monkeypatch.setenv("HEADRACE_DEBUG", "1")

    error = unpack_failure(pack_failure(failed_in_a_driver(builder)))

    assert "headrace/task/nodes.py" in str(error.__cause__)


def test_an_error_without_a_function_of_the_user_has_no_traceback() -> None:
    builder = StreamsBuilder()
    builder.stream("in").map_values(len).to("out")

    error = unpack_failure(pack_failure(failed_in_a_driver(builder)))

    assert error.message.startswith("the value serde of the topic 'out' does not fit")
    assert error.__cause__ is None


def test_a_bug_of_ours_keeps_its_traceback() -> None:
    try:
        Level(None, None, 0, None, clock=now_ms, global_stores={})._visit(0, None).__next__()  # type: ignore[arg-type]
    except AttributeError as bug:
        error = unpack_failure(pack_failure(bug))

    assert type(error) is StreamsError
    assert "headrace/batch/level.py" in str(error.__cause__)


def test_a_renewal_says_that_the_directory_is_in_use(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines")
    coordinator = Coordinator(word_count(), settings(tmp_path), broker, now_ms)
    home = coordinator.application.config.application_dir
    os.utime(home / ".broker", (0, 0))
    coordinator.renew()
    assert last_used_ms(home) > now_ms() - 60_000
    coordinator.close()
