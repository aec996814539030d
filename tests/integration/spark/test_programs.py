"""Programs on real Spark, over a real embedded broker and real stores."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

from headrace import stores
from headrace.batch.reports import BatchReport
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord
from headrace.records import Headers
from headrace.spark.engine import SparkEngine
from tests.integration.batch.programs import append, enriched, final_counts, foreign_key, read, settings, word_count
from tests.integration.spark import programs

LINES = [(f"k{n}", f"all streams lead to kafka {n % 3}") for n in range(30)]
WORDS = Counter(word for _, line in LINES for word in line.split())


def test_word_count_goes_on_exactly_after_a_restart(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    tmp_path /= "a directory %20 with [an] odd name"
    broker.create_topic("lines", 2)
    for start in (0, 10, 20):
        with SparkEngine(word_count(), settings(tmp_path), broker, session=spark) as engine:
            append(broker, "lines", LINES[start : start + 5])
            engine.run_until_idle()
            append(broker, "lines", LINES[start + 5 : start + 10])
            engine.run_until_idle()
    assert final_counts(broker) == WORDS
    assert max(Counter(read(broker, "counts")).values()) == 1
    assert sum(broker.lag("app").values()) == 0


def test_a_foreign_key_join_ends_in_the_batch_in_which_it_began(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("orders", 2)
    broker.create_topic("customers", 3)
    append(broker, "customers", [("alice", "Alice"), ("bob", "Bob")])
    append(broker, "orders", [("1", "alice:tea"), ("2", "bob:cake"), ("3", "carol:ham")])
    batches: list[BatchReport] = []
    with SparkEngine(foreign_key(), settings(tmp_path), broker, session=spark, on_batch=batches.append) as engine:
        engine.run_until_idle()
        assert set(read(broker, "named")) == {(b"1", b"alice:tea by Alice"), (b"2", b"bob:cake by Bob")}
        append(broker, "customers", [("carol", "Carol"), ("bob", "Robert")])
        engine.run_until_idle()
    assert len(batches) == 2
    assert set(read(broker, "named")[2:]) >= {(b"3", b"carol:ham by Carol"), (b"2", b"bob:cake by Robert")}


def test_a_window_is_told_once_it_is_closed(tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession) -> None:
    broker.create_topic("clicks")
    with SparkEngine(programs.closed_windows(), settings(tmp_path), broker, session=spark) as engine:
        append(broker, "clicks", [("a", "x"), ("a", "y"), ("b", "z")], timestamp=1)
        engine.run_until_idle()
        assert read(broker, "closed") == []
        append(broker, "clicks", [("a", "x")], timestamp=12)
        engine.run_until_idle()
        assert read(broker, "closed") == [(b"a@0", _long(2)), (b"b@0", _long(1))]
        append(broker, "clicks", [("b", "late"), ("b", "x")], timestamp=9)
        append(broker, "clicks", [("b", "x")], timestamp=30)
        engine.run_until_idle()
    assert read(broker, "closed")[2:] == [(b"a@10", _long(1)), (b"b@10", _long(1))]


def test_a_stream_is_joined_with_a_table(tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession) -> None:
    broker.create_topic("names", 2)
    broker.create_topic("orders", 2)
    append(broker, "names", [("a", "Alice"), ("b", "Bob")], timestamp=0)
    append(broker, "orders", [("a", "tea"), ("b", "cake"), ("c", "ham")], timestamp=10)
    with SparkEngine(programs.named_orders(), settings(tmp_path), broker, session=spark) as engine:
        engine.run_until_idle()
        append(broker, "names", [("a", "Alicia"), ("b", None)], timestamp=20)
        append(broker, "orders", [("a", "milk"), ("b", "salt")], timestamp=30)
        engine.run_until_idle()
    assert Counter(read(broker, "named")) == Counter(
        [(b"a", b"tea for Alice"), (b"b", b"cake for Bob"), (b"a", b"milk for Alicia")]
    )


def test_a_global_table_is_filled_before_processing_and_current_in_every_batch(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("regions", 2)
    for topic in ("left", "right"):
        broker.create_topic(topic, 2)
    _append_both_sides(broker)
    append(broker, "regions", [("eu", "Europe")])
    with SparkEngine(enriched(), settings(tmp_path), broker, session=spark) as engine:
        engine.run_until_idle()
        assert set(read(broker, "joined")) == {(b"a", b"eu@Europe+x"), (b"b", b"eu@Europe+y")}
        for region in ("Europa", "Old World"):
            before = len(read(broker, "joined"))
            # A batch may begin between any two of them.
            append(broker, "regions", [("eu", region)])
            _append_both_sides(broker)
            engine.run_until_idle()
            # These find the streams' earlier records in their windows too.
            now = read(broker, "joined")[before:]
            assert {(b"a", f"eu@{region}+x".encode()), (b"b", f"eu@{region}+y".encode())} <= set(now)


def _append_both_sides(broker: EmbeddedBroker) -> None:
    append(broker, "left", [("a", "eu"), ("b", "eu")])
    append(broker, "right", [("a", "x"), ("b", "y")])


def test_the_wall_clock_calls_a_processor_without_any_input(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("in", 2)
    counts: Counter[str] = Counter()
    is_enough = threading.Event()

    def on_batch(report: BatchReport) -> None:
        counts["batches"] += 1
        counts["read"] += report.records
        if counts["batches"] >= 4:
            is_enough.set()

    with SparkEngine(programs.heart(), settings(tmp_path), broker, session=spark, on_batch=on_batch) as engine:
        engine.start()
        assert is_enough.wait(300)
    beats = read(broker, "out")
    assert counts["read"] == 0
    # Each of the two tasks counts for itself, and goes on from what its store had.
    assert Counter(beats) == Counter(
        (b"beat", str(number).encode()) for share in _shares(beats) for number in range(1, share + 1)
    )
    assert max(_shares(beats)) >= 3


def _shares(beats: list[tuple[bytes | None, bytes | None]]) -> list[int]:
    """How far each task counted: the highest number, and the highest one that comes twice."""
    numbers = Counter(int(value or b"") for _, value in beats)
    return [max(numbers, default=0), max((number for number in numbers if numbers[number] == 2), default=0)]


def test_headers_and_timestamps_cross_the_shuffle(tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession) -> None:
    broker.create_topic("in", 2)
    broker.create_topic("out", 3)
    sent = [
        NewRecord("in", f"k{n}".encode(), f"v{n}".encode(), 1000 - n, Headers([("n", str(n).encode()), ("n", b"")]))
        for n in range(20)
    ]
    broker.append(sent)
    with SparkEngine(programs.rekeyed(), settings(tmp_path), broker, session=spark) as engine:
        engine.run_until_idle()
    found = {
        (value, timestamp, tuple(headers))
        for partition in range(3)
        for records in broker.read("out", partition, 0)
        for _, _, _, timestamp, key, value, headers in records
        if key == value
    }
    assert found == {(each.value, each.timestamp, tuple(each.headers)) for each in sent}


def test_stores_in_memory_live_from_batch_to_batch(tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession) -> None:
    broker.create_topic("in", 2)
    for _ in range(2):
        with SparkEngine(
            programs.counts_in(stores.in_memory("counts")), settings(tmp_path), broker, session=spark
        ) as engine:
            for _ in range(2):
                append(broker, "in", [("a", "x"), ("b", "x")])
                engine.run_until_idle()
    assert Counter(read(broker, "out")) == Counter((key, _long(n)) for key in (b"a", b"b") for n in range(1, 5))


def test_an_lru_store_forgets_what_was_not_used_for_long(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("in")
    with SparkEngine(programs.counts_in(stores.lru("counts", 2)), settings(tmp_path), broker, session=spark) as engine:
        for keys in ("ab", "a", "c", "ab"):
            append(broker, "in", [(key, "x") for key in keys])
            engine.run_until_idle()
    assert read(broker, "out") == [
        (b"a", _long(1)),
        (b"b", _long(1)),
        (b"a", _long(2)),
        (b"c", _long(1)),
        (b"a", _long(3)),
        (b"b", _long(1)),
    ]


def test_a_rate_limit_cuts_the_input_into_batches_and_changes_no_result(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    broker.create_topic("lines", 2)
    append(broker, "lines", LINES)
    sizes: list[int] = []
    limited = settings(tmp_path, **{"max.records.per.batch": 7})
    with SparkEngine(
        word_count(), limited, broker, session=spark, on_batch=lambda report: sizes.append(report.records)
    ) as engine:
        assert engine.run_until_idle() == len(sizes)
    assert sum(sizes) == len(LINES)
    assert max(sizes) <= 7
    assert final_counts(broker) == WORDS


def _long(number: int) -> bytes:
    return number.to_bytes(8, "big")
