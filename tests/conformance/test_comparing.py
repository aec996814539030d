"""What decides whether an engine agrees with its reference: it must see what differs, and only that."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from headrace.application.topics import plan_topics
from headrace.records import NO_HEADERS
from tests.conformance.adapter import Program
from tests.conformance.agreement import Shown, at_last, in_order, per_key
from tests.conformance.case_inputs import WALL_CLOCK_MS, Advance, Input, Piped, inputs_of
from tests.conformance.cases import load_cases
from tests.conformance.cutting import Cut, chunks_of
from tests.conformance.final_tables import final_tables
from tests.conformance.left_out import reason_to_leave_out
from tests.conformance.printed import printed
from tests.conformance.program_facts import reads_stream_time, source_topics
from tests.conformance.references import DriverReference, Reference, TaskReference
from tests.conformance.shown_records import Showing
from tests.conformance.test_cases import OURS, case_name


def _shown(key: str | None, value: str | None, task: str = "0_0", partition: int | None = 0) -> Shown:
    return Shown("out", partition, key, value, 0, "[]", task)


def test_records_of_two_tasks_may_be_interleaved_in_a_partition() -> None:
    expected = [_shown("a", "1"), _shown("a", "2"), _shown("b", "3", task="0_1")]
    assert in_order(expected, [_shown("a", "1"), _shown("b", "3"), _shown("a", "2")]) == []


def test_records_of_one_task_may_not_change_places() -> None:
    expected = [_shown("a", "1"), _shown("b", "2")]
    assert in_order(expected, expected[::-1]) != []


def test_a_record_in_another_partition_is_a_difference() -> None:
    assert in_order([_shown("a", "1", partition=0)], [_shown("a", "1", partition=1)]) != []


def test_a_record_that_may_go_anywhere_must_still_be_there() -> None:
    expected = [_shown(None, "1", partition=None)]
    assert in_order(expected, [_shown(None, "1", partition=1)]) == []
    assert in_order(expected, []) != []


def test_keys_may_change_places_but_not_the_records_of_one_key() -> None:
    expected = [_shown("a", "1"), _shown("a", "2"), _shown("b", "3")]
    assert per_key(expected, [expected[2], expected[0], expected[1]]) == []
    assert per_key(expected, [expected[1], expected[0], expected[2]]) != []


def test_a_record_without_a_key_may_not_be_written_twice() -> None:
    assert per_key([_shown(None, "1")], [_shown(None, "1"), _shown(None, "1")]) != []


def test_a_table_is_its_last_values_and_a_null_is_none() -> None:
    assert at_last([_shown("a", "1"), _shown("a", "2")], [_shown("a", "2"), _shown("b", None)]) == []
    assert at_last([_shown("a", "2")], [_shown("a", "2"), _shown("a", "1")]) != []


def _piped(topic: str, timestamp: int) -> Piped:
    return Piped(topic, b"k", b"v", timestamp, NO_HEADERS)


def test_nothing_is_lost_by_cutting() -> None:
    inputs: list[Input] = [*(_piped("a", n) for n in range(50)), Advance(5), *(_piped("b", n) for n in range(50))]
    chunks = chunks_of(inputs, Cut.ANYTHING, 2, random.Random(7), 12)
    assert [each for chunk in chunks for each in (chunk if isinstance(chunk, list) else [chunk])] == inputs
    assert any(isinstance(chunk, list) and len(chunk) > 1 for chunk in chunks)


def test_equal_times_of_two_topics_are_never_in_one_batch() -> None:
    inputs = [_piped(topic, n // 4) for n, topic in enumerate("ab" * 100)]
    for chunk in chunks_of(inputs, Cut.BY_TIME, 1, random.Random(7), 12):
        assert isinstance(chunk, list)
        topics_of: dict[int, set[str]] = {}
        for record in chunk:
            topics_of.setdefault(record.timestamp, set()).add(record.topic)
        assert all(len(topics) == 1 for topics in topics_of.values())


def _program(*middle: dict[str, Any]) -> dict[str, Any]:
    first = {"id": "0", "op": "table", "topic": "in", "materialized": {"name": "T"}}
    steps = [{**step, "id": str(number + 1), "on": str(number)} for number, step in enumerate(middle)]
    return {"topology": [first, *steps, {"op": "to", "on": str(len(middle)), "topic": "out"}], "inputs": []}


def test_updates_of_a_table_end_the_same_but_not_after_a_filter_of_the_stream() -> None:
    assert final_tables(_program({"op": "to_stream"})) == {"out", "app-T-changelog"}
    assert final_tables(_program({"op": "to_stream"}, {"op": "filter"})) == {"app-T-changelog"}
    assert final_tables(_program({"op": "filter"}, {"op": "to_stream"})) == {"out", "app-T-changelog"}


def _writes(case: Any) -> bool:
    """Without an error and with some output: of other cases there is nothing to compare."""
    return "error" not in case["expected"] and any(case["expected"]["steps"])


_RUNNABLE = [
    case
    for case in load_cases(OURS)
    if reason_to_leave_out(case, "batches") is None and not reads_stream_time(case) and _writes(case)
]


@pytest.mark.parametrize("case", _RUNNABLE[::40], ids=case_name)
def test_the_tasks_of_the_reference_write_per_key_what_the_driver_writes(case: Any, tmp_path: Path) -> None:
    settings = {**Program(case).config, "statestore.cache.max.bytes": 0, "state.dir": str(tmp_path / "driver")}
    with printed([]):
        driver = DriverReference(Program(case).build(), settings, WALL_CLOCK_MS)
        topology = Program(case).build()
        planned = topology.configured(settings)
        read = source_topics(planned) | {step["topic"] for step in case["inputs"] if "topic" in step}
        topics = plan_topics(planned, dict.fromkeys(read, 1), "h:1")
        tasks = TaskReference(topology, settings, WALL_CLOCK_MS, topics, lambda topic: 1, tmp_path / "tasks")
        written = [_everything(each, case) for each in (driver, tasks)]
    assert written[0]
    assert per_key(*written) == []


def _everything(reference: Reference, case: Any) -> list[Shown]:
    for each in inputs_of(case):
        if isinstance(each, Advance):
            reference.advance(each.ms)
        else:
            reference.pipe(each)
    written = reference.take()
    reference.close()
    return [Showing(case).written(record) for record in written]
