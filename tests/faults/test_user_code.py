"""Row P3: functions that hang, exit, fork, or print without end. The culprit is named, the rest lives on."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace import Processor, PunctuationType, Record, StreamsBuilder, Topology
from headrace.batch.local import LocalEngine
from headrace.broker.embedded import EmbeddedBroker
from headrace.errors import ProcessingError
from headrace.spark.engine import SparkEngine
from tests.integration.batch.programs import append, read, settings

BAD = "bad"


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path / "broker", fsync=False) as broker:
        broker.create_topic("in")
        append(broker, "in", [("k", "good"), ("k", BAD), ("k", "fine")])
        yield broker


def sleeps() -> None:
    time.sleep(600)


def loops() -> None:
    while True:
        pass


def hides() -> None:
    try:
        sleeps()
    except Exception:
        loops()


def exits() -> None:
    sys.exit(3)


def interrupts() -> None:
    raise KeyboardInterrupt


def gives_up() -> None:
    raise GeneratorExit("enough")


def forks() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


def forks_a_child_that_exits() -> None:
    child = os.fork()
    if not child:
        sys.exit(3)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != 3:
        raise ValueError("the child went on")


def prints() -> None:
    for _ in range(100):
        print("x" * 100_000)


def shouting(bad: Callable[[], None]) -> Topology:
    """Values in capitals; ``bad`` is called for a bad one."""

    def shout(value: str) -> str:
        if value == BAD:
            bad()
        return value.upper()

    builder = StreamsBuilder()
    builder.stream("in").map_values(shout, name="shout").to("out")
    return builder.build()


def test_an_interrupt_that_no_ctrl_c_has_sent_is_one_error(tmp_path: Path, broker: EmbeddedBroker) -> None:
    failures: list[BaseException] = []
    with LocalEngine(shouting(interrupts), settings(tmp_path), broker, on_failure=failures.append) as engine:
        engine.start()
        with pytest.raises(ProcessingError, match="a function raised KeyboardInterrupt") as raised:
            engine.run_until_idle()
    assert failures == [raised.value]
    assert str(raised.value.at).endswith("node shout, task 0_0, record in-0@1")
    assert f"{__file__}:{interrupts.__code__.co_firstlineno + 1}, " in str(raised.value.at)
    assert str(raised.value.hint).startswith("Raise an Exception instead")


def test_an_interrupt_in_the_main_thread_may_be_a_real_one(tmp_path: Path, broker: EmbeddedBroker) -> None:
    # Whoever started the tests in the background may have had Ctrl-C ignored.
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with LocalEngine(shouting(interrupts), settings(tmp_path), broker) as engine, pytest.raises(KeyboardInterrupt):
            engine.run_until_idle()
    finally:
        signal.signal(signal.SIGINT, earlier)


@pytest.mark.parametrize("bad", [exits, gives_up])
def test_so_is_a_processor_that_wants_to_end_all_when_it_begins(
    bad: Callable[[], None], tmp_path: Path, broker: EmbeddedBroker
) -> None:
    class Quits(Processor):
        def init(self, context: Any) -> None:
            bad()

        def process(self, record: Record[Any, Any]) -> None: ...

    builder = StreamsBuilder()
    builder.stream("in").process(Quits, name="quits")
    with LocalEngine(builder.build(), settings(tmp_path), broker) as engine, pytest.raises(ProcessingError) as raised:
        engine.run_until_idle()
    assert str(raised.value.at).endswith("node quits, task 0_0, the start of the task")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (sleeps, "a function did not return for 0.5 s"),
        (loops, "a function did not return for 0.5 s"),
        (hides, "a function did not return for 0.5 s"),
        (exits, "a function ended its process (exit code 3)"),
        (gives_up, "a function raised GeneratorExit: enough"),
    ],
)
def test_a_function_that_does_not_come_back_is_named_with_its_record(
    bad: Callable[[], None], said: str, tmp_path: Path, broker: EmbeddedBroker
) -> None:
    with (
        LocalEngine(shouting(bad), settings(tmp_path, **{"consumer.max.poll.interval.ms": 500}), broker) as engine,
        pytest.raises(ProcessingError) as raised,
    ):
        engine.run_until_idle()
    assert raised.value.message == said
    assert raised.value.at is not None
    place, *node, task, record = raised.value.at.split(", ")
    assert (task, record) == ("task 0_0", "record in-0@1")
    assert node == (["node shout"] if bad in (exits, gives_up) else [])
    file, line = place.split(":")
    assert file == __file__
    inside = loops if bad is hides else bad
    assert 0 < int(line) - inside.__code__.co_firstlineno <= 2
    assert not broker.committed("app")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    with LocalEngine(shouting(forks), settings(tmp_path), broker) as engine:
        engine.run_until_idle()
    assert [value for _, value in read(broker, "out")] == [b"GOOD", b"BAD", b"FINE"]


def test_a_child_that_a_function_forked_does_not_go_on_with_the_tasks(tmp_path: Path, broker: EmbeddedBroker) -> None:
    process = os.getpid()
    with LocalEngine(shouting(forks_a_child_that_exits), settings(tmp_path), broker) as engine:
        try:
            engine.run_until_idle()
        finally:
            if os.getpid() != process:
                os._exit(1)
    assert [value for _, value in read(broker, "out")] == [b"GOOD", b"BAD", b"FINE"]


class Waiting(Processor):
    """Has a punctuation that hangs."""

    def init(self, context: Any) -> None:
        context.schedule(timedelta(milliseconds=1), PunctuationType.STREAM_TIME, lambda _: sleeps())

    def process(self, record: Record[Any, Any]) -> None:
        pass


def test_a_punctuation_that_hangs_is_an_error_too(tmp_path: Path, broker: EmbeddedBroker) -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(Waiting)
    with (
        LocalEngine(builder.build(), settings(tmp_path, **{"consumer.max.poll.interval.ms": 300}), broker) as engine,
        pytest.raises(ProcessingError, match="did not return") as raised,
    ):
        engine.run_until_idle()
    assert raised.value.at is not None and "a punctuation" in raised.value.at


def test_many_records_that_take_their_time_are_no_stall(tmp_path: Path, broker: EmbeddedBroker) -> None:
    append(broker, "in", [("k", BAD)] * 30)
    slow = shouting(lambda: time.sleep(0.02))
    with LocalEngine(slow, settings(tmp_path, **{"consumer.max.poll.interval.ms": 300}), broker) as engine:
        engine.run_until_idle()
    assert len(read(broker, "out")) == 33


def test_a_worker_survives_such_a_function_and_other_applications_with_it(
    tmp_path: Path, broker: EmbeddedBroker, spark: SparkSession
) -> None:
    quick = {"consumer.max.poll.interval.ms": 500}
    with (
        SparkEngine(shouting(sleeps), settings(tmp_path, **quick), broker, session=spark) as engine,
        pytest.raises(ProcessingError) as raised,
    ):
        engine.run_until_idle()
    assert raised.value.at is not None and "in-0@1" in raised.value.at and "test_user_code.py" in raised.value.at
    with SparkEngine(shouting(prints), settings(tmp_path), broker, session=spark) as engine:
        engine.run_until_idle()
    assert [value for _, value in read(broker, "out")] == [b"GOOD", b"BAD", b"FINE"]
