"""The batch engine in one process, on a real embedded broker and real RocksDB."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rocksdict import Rdict

from headrace import Processor, StreamsBuilder, stores
from headrace.batch import runner
from headrace.batch.local import LocalEngine
from headrace.batch.reading_time import ReadingTime
from headrace.batch.reports import BatchReport
from headrace.batch.task_input import TaskInput
from headrace.broker import crash_points
from headrace.broker.embedded import EmbeddedBroker
from headrace.errors import InternalTopicError, LeaseHeldError, MissingSourceTopicError, OffsetError, UpgradeError
from headrace.records import Record
from headrace.state.rocksdb import visits
from headrace.state.rocksdb.task_databases import FAILPOINTS
from tests.conformance.engines import HurriedEngine
from tests.integration.batch import programs
from tests.integration.batch.programs import append, final_counts, open_at, read, settings

LINES = [(f"k{n}", f"all streams lead to kafka {n % 3}") for n in range(20)]
WORDS = Counter(word for _, line in LINES for word in line.split())


def test_goes_on_where_it_was_in_every_batch_and_after_every_restart(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines", 3)
    for line in LINES:
        append(broker, "lines", [line])
        with LocalEngine(programs.word_count(), settings(tmp_path), broker) as engine:
            assert engine.run_until_idle() == 1
    assert final_counts(broker) == WORDS
    assert sum(broker.lag("app").values()) == 0


def test_a_rate_limit_cuts_the_input_into_batches_and_changes_no_result(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines", 2)
    append(broker, "lines", LINES)
    limited = settings(tmp_path, **{"max.records.per.batch": 5})
    with LocalEngine(programs.word_count(), limited, broker) as engine:
        assert engine.run_until_idle() >= 4
    assert final_counts(broker) == WORDS


def test_visits_whose_time_is_up_cut_the_input_into_batches_and_change_no_result(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines", 2)
    append(broker, "lines", LINES)
    reports: list[BatchReport] = []
    with HurriedEngine(programs.word_count(), settings(tmp_path), broker, on_batch=reports.append) as engine:
        assert engine.run_until_idle() >= 4
    # Each record is read once: what a visit has read and left is there for the next one.
    assert sum(report.records for report in reports) == len(LINES)
    assert final_counts(broker) == WORDS


def test_what_waits_of_a_topic_that_is_made_again_is_forgotten(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    builder = StreamsBuilder()
    builder.stream("early").merge(builder.stream("late")).to("out")
    for topic in ("early", "late", "out"):
        broker.create_topic(topic)
    append(broker, "early", [("k", f"early {number}") for number in range(3)])
    append(broker, "late", [("k", "of the old topic")], timestamp=100)
    with HurriedEngine(builder.build(), settings(tmp_path), broker) as engine:
        engine.run_batch()
        # It was read, and is processed after what is earlier.
        broker.delete_topic("late")
        broker.create_topic("late")
        append(broker, "late", [("k", "of the new topic"), ("k", "one more")], timestamp=100)
        engine.run_until_idle()
    found = [value.decode() for _, value in read(broker, "out") if value]
    assert found == ["early 0", "early 1", "early 2", "of the new topic", "one more"]


@pytest.mark.parametrize("policy", ["earliest", None])
def test_retention_that_passes_between_the_plan_and_the_reading_is_what_the_reset_policy_says(
    tmp_path: Path, policy: str | None
) -> None:
    broker = EmbeddedBroker(tmp_path / "broker", fsync=False)
    builder = StreamsBuilder()
    builder.stream("lines").to("out")
    for topic in ("lines", "out"):
        broker.create_topic(topic)
    append(broker, "lines", [("k", str(number)) for number in range(10)])
    more = {} if policy is None else {"consumer.auto.offset.reset": policy}
    reports: list[BatchReport] = []
    limited = settings(tmp_path, **{"max.records.per.batch": 4}, **more)
    with LocalEngine(builder.build(), limited, broker, on_batch=reports.append) as engine:
        engine.run_batch()
        run_job = engine._runner._job

        def job_after_retention(*arguments: Any) -> Any:
            broker.delete_records({("lines", 0): 7})
            return run_job(*arguments)

        engine._runner._job = job_after_retention
        if policy is None:
            with pytest.raises(OffsetError, match="3 records of lines-0 were deleted before they were read"):
                engine.run_until_idle()
        else:
            engine.run_until_idle()
    found = [int(value) for _, value in read(broker, "out") if value]
    assert found == ([0, 1, 2, 3] if policy is None else [0, 1, 2, 3, 7, 8, 9])
    assert [(lost.start, lost.end) for report in reports for lost in report.lost] == (
        [] if policy is None else [(4, 7)]
    )


def test_tasks_of_one_process_share_the_time_and_what_one_leaves_is_for_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []

    def feed(input: Any, now_ms: int, seconds: float) -> None:
        given.append(seconds)
        fed(input, now_ms, seconds)
        input.seconds = {0: 0.2, 1: 5.0}.get(len(given) - 1, 0.1)

    fed = TaskInput.feed
    monkeypatch.setattr(TaskInput, "feed", feed)
    builder = StreamsBuilder()
    builder.stream("lines").to("counts")
    broker = open_at(tmp_path)
    broker.create_topic("lines", 4)
    append(broker, "lines", LINES)
    time = ReadingTime()
    time.seconds = 1.0
    with LocalEngine(builder.build(), settings(tmp_path), broker, time=time) as engine:
        engine.run_batch()
    assert given == pytest.approx([1.0 / 4, 0.8 / 3, 0.25 / 4, 0.25 / 4])


def test_what_is_before_records_that_were_sent_is_read_though_other_tasks_have_used_up_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def feed(input: Any, now_ms: int, seconds: float) -> None:
        fed(input, now_ms, seconds)
        input.seconds = 5.0

    fed = TaskInput.feed
    monkeypatch.setattr(TaskInput, "feed", feed)
    builder = StreamsBuilder()
    table = builder.table("names")
    orders = builder.stream("orders").select_key(lambda key, name: name)
    orders.left_join(table, lambda order, name: f"{order} {name}").to("named")
    broker = open_at(tmp_path)
    for topic in ("orders", "names", "named"):
        broker.create_topic(topic, 4)
    append(broker, "names", [(f"k{n}", f"v{n}") for n in range(200)])
    append(broker, "orders", [(None, f"k{n}") for n in range(0, 200, 10)], timestamp=1000)
    time = ReadingTime()
    time.seconds = 1.0
    with LocalEngine(builder.build(), settings(tmp_path), broker, time=time) as engine:
        engine.run_until_idle()
    found = {value.decode() for _, value in read(broker, "named") if value}
    assert found == {f"k{n} v{n}" for n in range(0, 200, 10)}


def test_tasks_that_wait_for_an_idle_partition_let_time_pass_between_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = StreamsBuilder()
    builder.stream("left").merge(builder.stream("right")).to("out")
    broker = open_at(tmp_path)
    for topic in ("left", "right", "out"):
        broker.create_topic(topic)
    append(broker, "left", LINES)
    now, pauses = 0, list[float]()
    waiting = settings(tmp_path, **{"max.task.idle.ms": 1000})
    with LocalEngine(builder.build(), waiting, broker, clock=lambda: now) as engine:
        monkeypatch.setattr(runner, "_pause", pauses.append)
        for _ in range(3):
            assert engine.run_batch() is not None
        assert len(pauses) == 3 and read(broker, "out") == []
        now = 2000
        assert engine.run_until_idle() == 1
    assert len(pauses) == 3 and len(read(broker, "out")) == len(LINES)


def test_a_setting_says_how_much_a_batch_reads_whatever_its_time_is(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines")
    append(broker, "lines", LINES)
    unhurried = settings(tmp_path, **{"max.records.per.batch": len(LINES)})
    with HurriedEngine(programs.word_count(), unhurried, broker) as engine:
        assert engine.run_until_idle() == 1


def test_a_task_that_stays_where_it_is_is_opened_once_and_keeps_what_its_processors_remember(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    lives: list[str] = []

    class Numbered(Processor):
        def init(self, context: Any) -> None:
            self.context, self.count = context, 0
            lives.append("init")

        def process(self, record: Record[Any, Any]) -> None:
            self.count += 1
            self.context.forward(record.with_value(f"{record.value} {self.count}"))

        def close(self) -> None:
            lives.append("close")

    def open_database(path: str, *more: Any, **options: Any) -> Any:
        opened.append(path)
        return Rdict(path, *more, **options)

    monkeypatch.setattr(visits, "Rdict", open_database)
    builder = StreamsBuilder()
    builder.stream("lines").process(Numbered).group_by_key().count("per-key").to_stream().to("counts")
    builder.stream("lines").process(Numbered).to("numbered")
    broker = open_at(tmp_path)
    broker.create_topic("lines")
    with LocalEngine(builder.build(), settings(tmp_path), broker) as engine:
        for number in range(5):
            append(broker, "lines", [("k", "line")], timestamp=number)
            assert engine.run_until_idle() == 1
        assert (len(opened), lives) == (1, ["init", "init"])
    assert lives == ["init", "init", "close", "close"]
    assert [value for _, value in read(broker, "numbered")] == [b"line %d" % number for number in range(1, 6)]


def test_state_that_was_lost_comes_back_from_the_changelog(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines")
    append(broker, "lines", LINES[:10])
    with LocalEngine(programs.word_count(), settings(tmp_path), broker) as engine:
        engine.run_until_idle()
    shutil.rmtree(tmp_path / "state")
    append(broker, "lines", LINES[10:])
    with LocalEngine(programs.word_count(), settings(tmp_path), broker) as engine:
        engine.run_until_idle()
    assert final_counts(broker) == WORDS


def test_a_foreign_key_join_ends_in_the_batch_in_which_it_began(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("orders", 2)
    broker.create_topic("customers", 3)
    append(broker, "customers", [("alice", "Alice"), ("bob", "Bob")])
    append(broker, "orders", [("1", "alice:tea"), ("2", "bob:cake"), ("3", "carol:ham")])
    with LocalEngine(programs.foreign_key(), settings(tmp_path), broker) as engine:
        assert engine.run_until_idle() == 1
        # As in Kafka, a subscription and an update of the row it is for may both answer.
        assert set(read(broker, "named")) == {(b"1", b"alice:tea by Alice"), (b"2", b"bob:cake by Bob")}
        append(broker, "customers", [("carol", "Carol")])
        engine.run_until_idle()
    assert (b"3", b"carol:ham by Carol") in read(broker, "named")


def test_global_tables_are_filled_before_records_are_joined(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    for topic in ("regions", "left", "right"):
        broker.create_topic(topic)
    append(broker, "left", [("a", "eu")])
    append(broker, "regions", [("eu", "Europe")])
    append(broker, "right", [("a", "x")])
    with LocalEngine(programs.enriched(), settings(tmp_path), broker) as engine:
        engine.run_until_idle()
    assert read(broker, "joined") == [(b"a", b"eu@Europe+x")]


def test_a_second_process_with_the_same_application_is_refused(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines")
    with (
        LocalEngine(programs.word_count(), settings(tmp_path), broker),
        pytest.raises(LeaseHeldError, match=str(os.getpid())),
    ):
        LocalEngine(programs.word_count(), settings(tmp_path), broker)
    LocalEngine(programs.word_count(), settings(tmp_path), broker).close()


def test_a_missing_source_topic_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(MissingSourceTopicError, match="lines"):
        LocalEngine(programs.word_count(), settings(tmp_path), open_at(tmp_path))


def test_a_topology_that_the_state_cannot_follow_is_refused(tmp_path: Path) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines")
    append(broker, "lines", LINES[:1])
    with LocalEngine(programs.word_count(), settings(tmp_path), broker) as engine:
        engine.run_until_idle()
    builder = StreamsBuilder()
    words = builder.stream("lines").flat_map_values(str.split).group_by(lambda key, word: word)
    words.count(stores.versioned("word-counts", 1000)).to_stream().map_values(str).to("counts")
    with pytest.raises((UpgradeError, InternalTopicError), match="word-counts"):
        LocalEngine(builder.build(), settings(tmp_path), broker)


BROKER_POINTS = (
    crash_points.SEGMENT_WRITTEN,
    crash_points.BEFORE_CATALOG,
    crash_points.INSIDE_CATALOG,
    crash_points.AFTER_CATALOG,
)


@pytest.mark.parametrize("point", [*FAILPOINTS, *BROKER_POINTS])
def test_a_process_killed_at_any_point_of_a_batch_loses_and_doubles_nothing(tmp_path: Path, point: str) -> None:
    broker = open_at(tmp_path)
    broker.create_topic("lines", 2)
    append(broker, "lines", LINES)
    for nth in (1, 4):
        _run_worker(tmp_path, {"HEADRACE_FAILPOINT": f"{point}:{nth}"})
    assert _run_worker(tmp_path, {}) == 0
    assert final_counts(broker) == WORDS
    every_count = Counter(read(broker, "counts"))
    assert max(every_count.values()) == 1
    assert sum(broker.lag("app").values()) == 0


def _run_worker(directory: Path, environment: dict[str, str]) -> int:
    command = [sys.executable, "-m", "tests.integration.batch.worker", str(directory)]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, env={**os.environ, **environment}, cwd=root, capture_output=True, text=True)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def test_a_source_topic_that_serves_as_changelog_brings_its_table_back_records_without_key_and_all(
    tmp_path: Path,
) -> None:
    builder = StreamsBuilder()
    names = builder.table("names", store="names")
    builder.stream("orders").join(names, lambda order, name: f"{order} for {name}").to("named")
    broker = open_at(tmp_path)
    broker.create_topic("names")
    broker.create_topic("orders")
    append(broker, "names", [("a", "Ada"), (None, "nobody"), ("b", "Bob")])
    optimized = settings(tmp_path, **{"topology.optimization": "all"})
    with LocalEngine(builder.build(optimized), optimized, broker) as engine:
        engine.run_until_idle()
    shutil.rmtree(tmp_path / "state")
    with LocalEngine(builder.build(optimized), optimized, broker) as engine:
        append(broker, "names", [("c", "Cem")], timestamp=5)
        append(broker, "orders", [("a", "tea"), ("b", "milk"), ("c", "salt")], timestamp=10)
        engine.run_until_idle()
    assert read(broker, "named") == [(b"a", b"tea for Ada"), (b"b", b"milk for Bob"), (b"c", b"salt for Cem")]
