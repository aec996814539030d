"""A task that is opened for a visit, put down, and taken up again."""

from __future__ import annotations

import logging
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import Processor, PunctuationType, Record, StreamsBuilder, TimeWindows, serdes, stores
from headrace.config import StreamsConfig
from headrace.errors import IllegalStateError, StoreError
from headrace.records import NO_HEADERS, raw_record
from headrace.state.shared_memory import memory_directory, release_memory
from headrace.state.version import Version, Visit
from headrace.task.checkpoint import read_checkpoint
from headrace.task.stream_task import StreamTask
from headrace.task.versioned_task import Commit, VersionedTask

COUNTS_LOG = ("app-counts-changelog", 0)


class Place:
    """A task's directory, and the tasks that are taken up there one after the other."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.sent: list[tuple[Any, ...]] = []
        self.builder = StreamsBuilder()
        self.now_ms = 0
        self.snapshots: dict[int, bytes] = {}

    def task(self) -> VersionedTask:
        config = StreamsConfig({"application.id": "app", "statestore.cache.max.bytes": 0})
        topology = self.builder.build()
        planned = topology.configured(config)
        task = StreamTask(
            planned.task_plan(),
            config,
            self,
            partitions=[("in", 0)],
            clock=lambda: self.now_ms,
            state_dir=self.directory,
        )
        return VersionedTask(task)

    def visit(self, base: int | None, target: int, *records: tuple[str, int], **options: Any) -> Commit:
        """A whole visit."""
        task = self.open(base, target, **options)
        task.start()
        feed(task, *records)
        return self.commit(task, target)

    def open(self, base: int | None, target: int, **options: Any) -> VersionedTask:
        """A task that begins a visit, with what it remembers."""
        task = self.task()
        visit = Visit(None if base is None else Version(base), Version(target))
        task.open(visit, snapshot=None if base is None else self.snapshots[base], **options)
        return task

    def commit(self, task: VersionedTask, target: int) -> Commit:
        """The end of a visit."""
        commit = task.commit()
        self.snapshots[target] = commit.snapshot
        task.task.suspend()
        task.close()
        return commit

    def send(self, *record: Any) -> None:
        self.sent.append(record)

    def partitions_for(self, topic: str) -> int:
        return 1

    def flush(self) -> None:
        pass

    def values(self, topic: str = "out") -> list[str]:
        return [value.decode() for name, _, _, _, value, _ in self.sent if name == topic]


def feed(versioned: VersionedTask, *records: tuple[str, int]) -> None:
    task = versioned.task
    task.add_records(
        ("in", 0),
        [
            raw_record("in", 0, number, timestamp, b"k", value.encode(), NO_HEADERS)
            for number, (value, timestamp) in enumerate(records)
        ],
    )
    task.process_all(0)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    yield Place(tmp_path / "0_0")
    release_memory(tmp_path)


def counting(place: Place, store: Any = "counts") -> Place:
    place.builder.stream("in").group_by_key().count(store).to_stream().map_values(str).to("out")
    return place


@pytest.mark.parametrize("store", ["counts", stores.in_memory("counts")], ids=["RocksDB", "in memory"])
def test_a_store_goes_on_where_the_last_visit_ended(place: Place, store: Any) -> None:
    counting(place, store)
    place.visit(None, 0, ("x", 1), ("y", 2))
    place.visit(0, 1, ("z", 3))

    assert place.values() == ["1", "2", "3"]


def test_a_visit_that_is_abandoned_leaves_everything_as_it_was(place: Place) -> None:
    counting(place)
    place.visit(None, 0, ("x", 1))
    task = place.task()
    task.open(Visit(Version(0), Version(1)), chunk_bytes=1)
    task.start()
    feed(task, ("y", 2), ("z", 3))
    task.abandon()
    place.sent.clear()
    place.visit(0, 1, ("y", 2))

    assert place.values() == ["2"]


def test_a_second_task_in_the_same_directory_is_refused_with_the_holder(place: Place) -> None:
    counting(place)
    task = place.task()
    task.open(Visit(None, Version(0)))

    with pytest.raises(StoreError, match=f"is in use by the process {os.getpid()}"):
        place.task().open(Visit(None, Version(0)))
    task.abandon()
    place.visit(None, 0)


def test_another_process_is_refused_too_and_may_come_in_when_the_first_is_gone(place: Place) -> None:
    place.directory.mkdir()
    script = (
        "import sys, time; from pathlib import Path; from headrace.task.lock import TaskLock\n"
        "lock = TaskLock(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(place.directory)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StoreError, match=f"is in use by the process {holder.pid}"):
            counting(place).visit(None, 0)
        holder.kill()
    place.visit(None, 0)


def test_who_waits_for_another_process_says_for_which_and_what_to_do(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("headrace.task.lock._SILENT_SECONDS", 0.1)
    task = counting(place).task()
    task.open(Visit(None, Version(0)))
    with pytest.raises(StoreError, match=f"kill -9 {os.getpid()}"):
        place.task().open(Visit(None, Version(0)), wait_seconds=0.3)
    (said,) = (record.getMessage() for record in caplog.records if record.name == "headrace.task.lock")
    assert said.startswith("waiting up to 0.3 s: the task of ") and f"kill -9 {os.getpid()}" in said
    task.abandon()


def test_a_lost_directory_is_reported_and_restored_from_the_changelog(place: Place) -> None:
    counting(place)
    commit = place.visit(None, 0, ("x", 1), ("y", 2))
    changelog = [(key, value, time, headers) for topic, _, time, key, value, headers in place.sent if topic != "out"]
    shutil.rmtree(place.directory)
    task = place.task()
    opening = task.open(Visit(Version(0), Version(1)), snapshot=commit.snapshot)

    assert (opening.stale, opening.positions) == ({"counts": None}, {})
    with pytest.raises(IllegalStateError, match="are not up to date: counts"):
        task.start()
    assert task.restore("counts", changelog) == 2
    task.start()
    feed(task, ("z", 3))
    place.commit(task, 1)
    assert place.values()[-1] == "3"
    place.visit(1, 2, ("z", 4))
    assert place.values()[-1] == "4"


def test_a_store_that_fell_behind_needs_only_what_came_since(place: Place) -> None:
    counting(place)
    place.visit(None, 0, ("x", 1), positions={COUNTS_LOG: 0})
    place.visit(0, 1, ("y", 2), positions={COUNTS_LOG: 1})
    task = place.task()
    opening = task.open(Visit(Version(5), Version(6)))

    assert opening.stale == {"counts": Version(0)}
    assert opening.positions == {COUNTS_LOG: 1}
    seven = serdes.long().serialize("", 7)
    task.restore("counts", [(b"k", seven, 5, NO_HEADERS)])
    task.start()
    feed(task, ("z", 6))
    task.commit()
    task.close()
    assert place.values()[-1] == "8"


def test_the_checkpoint_holds_the_positions_of_the_base(place: Place) -> None:
    counting(place).visit(None, 0, positions={COUNTS_LOG: 17})

    assert read_checkpoint(place.directory / ".checkpoint") == {COUNTS_LOG: 17}


def test_a_torn_checkpoint_counts_as_none(place: Place) -> None:
    counting(place).visit(None, 0, positions={COUNTS_LOG: 17})
    (place.directory / ".checkpoint").write_text("0\n7")
    task = place.task()

    assert task.open(Visit(Version(0), Version(1))).positions == {}
    task.abandon()


def test_directories_are_for_their_owner_alone(place: Place) -> None:
    counting(place, stores.in_memory("counts")).visit(None, 0, ("x", 1))
    directories = [place.directory, memory_directory(place.directory).parents[1]]

    assert [stat.S_IMODE(directory.stat().st_mode) for directory in directories] == [0o700, 0o700]


def test_stream_time_is_kept_so_that_late_records_stay_late(place: Place) -> None:
    windows = place.builder.stream("in").group_by_key().windowed_by(TimeWindows(10, grace=0))
    windows.count().to_stream(lambda window, count: str(window)).map_values(str).to("out")
    place.visit(None, 0, ("x", 50))
    task = place.open(0, 1)
    task.start()
    assert task.task.stream_time == 50
    feed(task, ("late", 3))
    task.abandon()

    assert task.task.context.metrics.dropped_records_by_reason == {"expired window": 1}


def test_a_task_that_went_on_without_being_closed_knows_how_far_each_changelog_was_applied(place: Place) -> None:
    counting(place).builder.stream("more").group_by_key().count("others")
    others = ("app-others-changelog", 0)
    task = place.open(None, 0, positions={COUNTS_LOG: 0, others: 0})
    task.start()
    task.commit()
    for base in range(3):
        task.go_on(Visit(Version(base), Version(base + 1)), positions={COUNTS_LOG: base + 5, others: base + 9})
        task.commit()
    task.abandon()

    opening = (task := place.task()).open(Visit(Version(8), Version(9)))
    task.abandon()

    assert opening.stale == {"counts": Version(2), "others": Version(2)}
    assert opening.positions == {COUNTS_LOG: 7, others: 11}


def test_a_task_that_is_not_open_cannot_commit(place: Place) -> None:
    with pytest.raises(IllegalStateError, match="the task is not open"):
        counting(place).task().commit()


class Scheduler(Processor):
    """Tells its ticks; what it does at a record, the record says."""

    def init(self, context: Any) -> None:
        super().init(context)
        self.first = context.schedule(10, PunctuationType.WALL_CLOCK_TIME, lambda time: self.tell("first", time))
        context.schedule(10, PunctuationType.WALL_CLOCK_TIME, self.second)

    def process(self, record: Any) -> None:
        if record.value == "cancel":
            self.first.cancel()
        elif record.value == "method":
            self.context.schedule(10, PunctuationType.WALL_CLOCK_TIME, self.third)
        elif record.value == "lambda":
            self.context.schedule(10, PunctuationType.WALL_CLOCK_TIME, lambda time: self.tell("lambda", time))

    def second(self, time: int) -> None:
        self.tell("second", time)

    def third(self, time: int) -> None:
        self.tell("third", time)

    def tell(self, name: str, time: int) -> None:
        self.context.forward(Record(name, f"{name} {time}", 0))


def scheduling(place: Place) -> Place:
    place.builder.stream("in").process(Scheduler).to("out")
    return place


def ticks(place: Place, base: int, now_ms: int) -> list[str]:
    """What a visit at that time of the wall clock tells."""
    place.sent.clear()
    place.now_ms = now_ms
    task = place.open(base, base + 1)
    task.start()
    task.task.punctuate_wall_clock()
    place.commit(task, base + 1)
    return place.values()


def test_schedules_keep_their_times_across_visits(place: Place) -> None:
    scheduling(place).visit(None, 0)

    assert ticks(place, 0, 9) == []
    assert ticks(place, 1, 12) == ["first 12", "second 12"]
    assert ticks(place, 2, 19) == []
    assert ticks(place, 3, 20) == ["first 20", "second 20"]


def test_a_cancelled_schedule_stays_cancelled(place: Place) -> None:
    scheduling(place).visit(None, 0, ("cancel", 1))

    assert ticks(place, 0, 10) == ["second 10"]
    assert ticks(place, 1, 20) == ["second 20"]


def test_a_method_scheduled_while_processing_goes_on_being_called(place: Place) -> None:
    scheduling(place).visit(None, 0, ("method", 1))

    assert sorted(ticks(place, 0, 10)) == ["first 10", "second 10", "third 10"]
    assert sorted(ticks(place, 1, 20)) == ["first 20", "second 20", "third 20"]


def test_a_nameless_function_scheduled_while_processing_ends_with_a_warning(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        scheduling(place).visit(None, 0, ("lambda", 1))

    assert "scheduled after init() and calls no method of the processor" in caplog.text
    assert ticks(place, 0, 10) == ["first 10", "second 10"]
