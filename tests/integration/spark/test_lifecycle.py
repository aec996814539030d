"""Starting, stopping, and what becomes of a session that somebody else made."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.broker.embedded import EmbeddedBroker
from headrace.errors import IllegalStateError
from headrace.spark.engine import SparkEngine
from tests.integration.batch.programs import append, final_counts, read, settings, word_count

LINES = [(f"k{n}", f"all streams lead to kafka {n % 3}") for n in range(200)]
WORDS = Counter(word for _, line in LINES for word in line.split())


def test_a_session_that_was_given_is_left_as_it_was(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("lines")
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    before = dict(spark.conf.getAll)
    append(broker, "lines", LINES[:1])
    with SparkEngine(word_count(), settings(tmp_path), broker, session=spark) as engine:
        engine.run_until_idle()
        assert engine.session is spark
        engine.set_threads(1)
        assert engine.is_running
    assert dict(spark.conf.getAll) == before
    assert spark.range(3).count() == 3
    assert not spark.streams.active


@pytest.mark.usefixtures("spark")
def test_a_session_that_was_opened_leaves_ctrl_c_to_python() -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_stops_between_batches_while_records_come_and_goes_on_exactly(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("lines", 2)
    batches = threading.Semaphore(0)

    def produce() -> None:
        for line in LINES:
            append(broker, "lines", [line])

    producer = threading.Thread(target=produce)
    few = settings(tmp_path, **{"max.records.per.batch": 20})
    with SparkEngine(word_count(), few, broker, session=spark, on_batch=lambda report: batches.release()) as engine:
        producer.start()
        for _ in range(2):
            engine.start()
            assert batches.acquire(timeout=120)
            assert engine.stop()
            at = broker.last_decided("app")
            assert at is not None and not engine.is_running
            assert broker.last_decided("app") == at
        producer.join()
        engine.run_until_idle()
    assert final_counts(broker) == WORDS
    assert max(Counter(read(broker, "counts")).values()) == 1
    assert sum(broker.lag("app").values()) == 0


def test_an_application_with_nothing_to_do_starts_and_waits_for_records(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("lines")
    append(broker, "lines", LINES[:1])
    with SparkEngine(word_count(), settings(tmp_path), broker, session=spark) as engine:
        engine.run_until_idle()
    before = broker.last_decided("app")
    with SparkEngine(word_count(), settings(tmp_path), broker, session=spark) as engine:
        assert engine.run_until_idle() == 0
        assert broker.last_decided("app") == before
        append(broker, "lines", LINES[:1])
        engine.run_until_idle()
    assert set(final_counts(broker).values()) == {2}


def test_an_engine_is_started_once_and_closed_as_often_as_one_likes(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("lines")
    engine = SparkEngine(word_count(), settings(tmp_path), broker, session=spark)
    engine.start()
    with pytest.raises(IllegalStateError):
        engine.start()
    engine.close()
    engine.close()
    assert broker.lease_owner("app") is None
    assert engine.stop()


def test_nothing_is_left_of_a_query_that_has_ended_or_was_killed(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("lines")
    append(broker, "lines", LINES[:1])
    engine = SparkEngine(word_count(), settings(tmp_path), broker, session=spark)
    checkpoints = engine.application.config.application_dir / "spark"
    (checkpoints / "killed" / "offsets").mkdir(parents=True)
    with engine:
        engine.run_until_idle()
        (checkpoint,) = checkpoints.iterdir()
        assert checkpoint.name != "killed"
        assert checkpoint.stat().st_mode & 0o777 == 0o700
    assert list(checkpoints.iterdir()) == []
