"""What the driver hears when something goes wrong, and that nothing of it is committed."""

from __future__ import annotations

import shutil
import threading
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.batch.failures import WorkerTraceback
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord, OffsetAndMetadata
from headrace.errors import LeaseHeldError, MissingSourceTopicError, OffsetError, ProcessingError
from headrace.spark.engine import SparkEngine
from tests.faults.scene import Scene, topology
from tests.integration.batch.programs import append, final_counts, read, settings, word_count
from tests.integration.spark import programs


class Listener:
    """Hears of failures."""

    def __init__(self) -> None:
        self.failures: list[BaseException] = []
        self.has_failed = threading.Event()

    def __call__(self, error: BaseException) -> None:
        self.failures.append(error)
        self.has_failed.set()


def test_a_function_that_raises_stops_the_query_with_its_place_and_a_mended_program_goes_on(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("numbers")
    listener = Listener()
    with SparkEngine(programs.shares(0), settings(tmp_path), broker, session=spark, on_failure=listener) as engine:
        append(broker, "numbers", [("k", "3"), ("k", "4")])
        engine.run_until_idle()
        append(broker, "numbers", [("k", "6"), ("k", "0"), ("k", "4")])
        with pytest.raises(ProcessingError) as raised:
            engine.run_until_idle()
        assert listener.has_failed.wait(60)
        assert listener.failures == [raised.value]
        assert not engine.is_running
    error = raised.value
    assert error.at is not None and "node divide" in error.at and "numbers-0@3" in error.at
    assert isinstance(error.__cause__, WorkerTraceback)
    assert "ZeroDivisionError" in str(error.__cause__) and "programs.py" in str(error.__cause__)
    assert broker.committed("app") == {("numbers", 0): OffsetAndMetadata(2, broker.committed("app")["numbers", 0][1])}
    assert len(read(broker, "shares")) == 2
    with SparkEngine(programs.shares(1), settings(tmp_path), broker, session=spark) as engine:
        engine.run_until_idle()
    counts = {key: int.from_bytes(value or b"", "big") for key, value in read(broker, "shares")}
    assert counts == {b"4": 1, b"3": 2, b"2": 1, b"12": 1}


def test_a_failure_is_told_once_though_the_one_who_waits_stops_the_engine_at_once(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("numbers")
    append(broker, "numbers", [("k", "0")])
    listener = Listener()
    with SparkEngine(programs.shares(0), settings(tmp_path), broker, session=spark, on_failure=listener) as engine:
        for count in (1, 2, 3):
            with pytest.raises(ProcessingError):
                engine.run_until_idle()
            assert len(listener.failures) == count
            assert engine.stop()
            assert len(listener.failures) == count


def test_the_same_failure_again_is_told_again_and_the_engine_can_be_started_again(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("numbers")
    append(broker, "numbers", [("k", "0")])
    listener = Listener()
    with SparkEngine(programs.shares(0), settings(tmp_path), broker, session=spark, on_failure=listener) as engine:
        for count in (1, 2):
            engine.start()
            assert listener.has_failed.wait(120)
            assert engine.stop()
            assert [type(error) for error in listener.failures] == [ProcessingError] * count
            listener.has_failed.clear()
    assert broker.committed("app") == {}


def test_records_that_were_deleted_before_they_were_read_are_an_offset_error(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("lines")
    append(broker, "lines", [("k", "one two")])
    with SparkEngine(word_count(), settings(tmp_path), broker, session=spark) as engine:
        engine.run_until_idle()
    append(broker, "lines", [("k", "three")] * 3)
    broker.delete_records({("lines", 0): 3})
    listener = Listener()
    with SparkEngine(word_count(), settings(tmp_path), broker, session=spark, on_failure=listener) as engine:
        engine.start()
        assert listener.has_failed.wait(120)
    assert isinstance(listener.failures[0], OffsetError)
    assert "2 records of lines-0 were deleted" in str(listener.failures[0])
    asked = settings(tmp_path, **{"consumer.auto.offset.reset": "earliest"})
    lost: Counter[str] = Counter()
    with SparkEngine(
        word_count(), asked, broker, session=spark, on_batch=lambda report: lost.update(map(str, report.lost))
    ) as engine:
        engine.run_until_idle()
    assert final_counts(broker) == {"one": 1, "two": 1, "three": 1}
    assert len(lost) == 1


def test_a_missing_source_topic_is_an_error_before_anything_starts(tmp_path: Path, broker: EmbeddedBroker) -> None:
    with pytest.raises(MissingSourceTopicError, match="lines"):
        SparkEngine(word_count(), settings(tmp_path), broker)


def test_a_second_engine_for_the_same_application_is_refused(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("lines")
    with SparkEngine(word_count(), settings(tmp_path), broker, session=spark), pytest.raises(LeaseHeldError):
        SparkEngine(word_count(), settings(tmp_path), broker, session=spark)
    SparkEngine(word_count(), settings(tmp_path), broker, session=spark).close()


def test_records_that_cannot_be_read_or_processed_become_dead_letters_and_all_others_count(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("numbers", 2)
    broker.create_topic("letters")
    append(broker, "numbers", [(f"k{n}", str(n % 5)) for n in range(50)])
    broker.append(NewRecord("numbers", b"k", b"\xff\xfe", 0) for _ in range(3))
    going_on = dict.fromkeys(("deserialization.exception.handler", "processing.exception.handler"), "log_and_continue")
    poisoned = settings(tmp_path, **going_on, **{"errors.dead.letter.queue.topic.name": "letters"})
    dropped: Counter[str] = Counter()
    with SparkEngine(
        programs.shares(0), poisoned, broker, session=spark, on_batch=lambda report: dropped.update(report.dropped)
    ) as engine:
        engine.run_until_idle()
    counts = {key: int.from_bytes(value or b"", "big") for key, value in read(broker, "shares")}
    assert counts == {b"12": 10, b"6": 10, b"4": 10, b"3": 10}
    letters = read(broker, "letters")
    assert letters.count((b"k", b"\xff\xfe")) == 3
    assert len(letters) == sum(dropped.values()) == 13


def test_a_state_directory_that_is_lost_or_corrupt_comes_back_from_the_changelog(
    tmp_path: Path, spark: SparkSession
) -> None:
    scene = Scene(tmp_path)
    restored: Counter[tuple[str, str, int]] = Counter()

    def run() -> None:
        scene.send(50)
        with (
            scene.broker() as broker,
            SparkEngine(
                topology(),
                scene.settings(),
                broker,
                session=spark,
                on_batch=lambda report: restored.update(report.restored),
            ) as engine,
        ):
            engine.run_until_idle()

    run()
    assert not restored
    shutil.rmtree(scene.state_dir)
    run()
    assert restored
    for manifest in scene.state_dir.rglob("CURRENT"):
        manifest.write_bytes(b"")
    restored.clear()
    run()
    assert restored
    scene.check()
