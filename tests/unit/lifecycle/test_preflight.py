"""What is in the way of an application, found before Spark starts."""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from headrace import Streams, StreamsBuilder, stores
from headrace.broker import open_broker
from headrace.config import StreamsConfig
from headrace.engines.spark_checks import SPARK_CHECKS
from headrace.errors import (
    BrokerError,
    HeadraceError,
    MissingSourceTopicError,
    OperatorTypeError,
    SetupError,
    StateDirectoryError,
)
from headrace.lifecycle import preflight
from headrace.lifecycle.preflight import Start
from headrace.state.shared_memory import SHARED_MEMORY
from headrace.topology import Topology

MakeStart = Callable[..., Start]


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def copying(topic: str = "in") -> Topology:
    builder = StreamsBuilder()
    builder.stream(topic).to("out")
    return builder.build()


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeStart:
    """Makes what is about to start, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)

    def make(topology: Topology | None = None, address: str | None = None, session: Any = None, **given: Any) -> Start:
        settings = {"application.id": "app", "state.dir": str(tmp_path / "state")}
        settings |= {name.replace("_", "."): value for name, value in given.items()}
        return Start(StreamsConfig(settings), address or f"embedded:{tmp_path / 'data'}", topology, session)

    return make


def refused(start: Start) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        preflight.check(start, *SPARK_CHECKS)
    return caught.value


def test_without_spark_there_is_no_look_at_java(start: MakeStart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    preflight.check(start(copying()))


def test_nothing_is_in_the_way_here_and_that_is_known_in_well_below_a_second(start: MakeStart, tmp_path: Path) -> None:
    def seconds() -> float:
        before = time.perf_counter()
        preflight.check(start(copying()), *SPARK_CHECKS)
        return time.perf_counter() - before

    # Of several: a machine that is busy may let any of them wait.
    assert min(seconds() for _ in range(5)) < 1.0
    assert list(tmp_path.iterdir()) == [], "looking leaves nothing behind"


def test_java_is_looked_for(start: MakeStart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    assert refused(start()).message == "JAVA_HOME names no Java: /nonexistent"


def session_with(python: str, master: str = "local[2]") -> Any:
    return SimpleNamespace(sparkContext=SimpleNamespace(pythonExec=python, master=master))


def test_not_where_a_session_runs_already(start: MakeStart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nonexistent")
    monkeypatch.setenv("SPARK_HOME", "/nonexistent")
    preflight.check(start(session=session_with(sys.executable)), *SPARK_CHECKS)


def test_a_spark_home_of_another_version_is_refused(
    start: MakeStart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    assert refused(start()).message == f"SPARK_HOME names no Spark: {tmp_path / 'spark'}"
    for file in ("bin/spark-submit", "jars/spark-core_2.12-3.3.1.jar"):
        (tmp_path / "spark" / file).parent.mkdir(parents=True)
        (tmp_path / "spark" / file).write_text("")
    assert refused(start()).message.startswith("SPARK_HOME names Spark 3.3.1, but PySpark ")


def other_python(tmp_path: Path, says: str) -> str:
    program = tmp_path / "other-python"
    program.write_text(f"#!/bin/sh\necho {says}\n")
    program.chmod(0o700)
    return str(program)


HERE = " ".join(map(str, sys.version_info[:2]))


@pytest.mark.parametrize(
    ("says", "message"),
    [
        (f"{HERE} headrace rocksdict", "the Python of the workers has no headrace: "),
        ("3 7", "the workers have Python 3.7, this program has "),
        ("nonsense", "the Python of the workers cannot be run: "),
    ],
)
def test_workers_need_a_python_with_headrace(start: MakeStart, tmp_path: Path, says: str, message: str) -> None:
    error = refused(start(session=session_with(other_python(tmp_path, says))))

    assert error.message.startswith(message)
    assert "PYSPARK_PYTHON was not set when the session was made" in str(error.detail)
    assert str(error.hint).endswith(f"set PYSPARK_PYTHON to {sys.executable} before the SparkSession is made.")


def test_so_do_those_of_our_own_session(start: MakeStart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", str(tmp_path / "nowhere"))
    error = refused(start())
    assert error.message == f"the Python of the workers cannot be run: {tmp_path / 'nowhere'}"
    assert str(error.detail).startswith("PYSPARK_PYTHON names it")


def test_any_python_that_has_all_of_it_will_do(start: MakeStart, tmp_path: Path) -> None:
    preflight.check(start(session=session_with(other_python(tmp_path, HERE))), *SPARK_CHECKS)
    preflight.check(start(session=session_with("/only/there/python", master="spark://far:7077")), *SPARK_CHECKS)


def test_a_real_python_is_asked(start: MakeStart, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Path(sys.executable).resolve()
    monkeypatch.setattr(sys, "executable", "/somewhere/else")
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert (
        refused(start(session=session_with(str(other)))).message
        == f"the Python of the workers has no headrace: {other}"
    )


def test_directories_that_cannot_be_made_are_named_with_their_setting(start: MakeStart, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    error = refused(start(state_dir=str(tmp_path / "file" / "state")))
    assert isinstance(error, StateDirectoryError)
    assert error.message == f"state.dir cannot be written: {tmp_path / 'file' / 'state'}"
    assert error.detail == f"{tmp_path / 'file'}: Not a directory"

    error = refused(start(address=f"embedded:{tmp_path / 'file' / 'data'}"))
    assert isinstance(error, BrokerError)
    assert error.message == f"the directory of bootstrap.servers cannot be written: {tmp_path / 'file' / 'data'}"
    assert "--broker embedded:DIRECTORY" in str(error.hint)


def test_a_full_disk_is_named(start: MakeStart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(1 << 30, 1 << 30, 5 << 20))
    error = refused(start())
    assert isinstance(error, SetupError)
    assert error.message.startswith("too little disk space for state.dir: 5 MiB free in ")


def test_little_shared_memory_matters_to_stores_in_memory_only(
    start: MakeStart, monkeypatch: pytest.MonkeyPatch
) -> None:
    def usage(path: Any) -> Usage:
        return Usage(1 << 40, 0, 8 << 20 if Path(path) == SHARED_MEMORY else 1 << 40)

    def counting(store: Any) -> Topology:
        builder = StreamsBuilder()
        builder.stream("in").group_by_key().count(store)
        return builder.build()

    monkeypatch.setattr(shutil, "disk_usage", usage)
    preflight.check(start(counting(stores.persistent("counts"))), *SPARK_CHECKS)
    error = refused(start(counting(stores.in_memory("counts"))))
    assert error.message == "too little shared memory for the store counts: 8 MiB free in /dev/shm"
    assert "--shm-size" in str(error.hint)


def make_topic(address: str, topic: str) -> None:
    with closing(open_broker(address, fsync="never")) as broker:
        broker.create_topic(topic)


def test_topics_of_another_broker_are_found(start: MakeStart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_topic("embedded:headrace-data", "in")

    error = refused(start(copying()))

    assert isinstance(error, MissingSourceTopicError)
    assert error.message == "source topics are missing: in"
    there = f"embedded:{tmp_path / 'headrace-data'}"
    assert error.detail == f"bootstrap.servers is embedded:{tmp_path / 'data'}; they are in {there}."
    assert error.hint == f"Set bootstrap.servers to {there}, or run with --broker {there}."
    assert not (tmp_path / "data").exists()

    monkeypatch.setenv("HEADRACE_BROKER", f"embedded:{tmp_path / 'third'}")
    make_topic(f"embedded:{tmp_path / 'third'}", "other")
    assert str(tmp_path / "third") in str(refused(start(copying("other"))).hint)


def test_topics_of_a_broker_with_nearly_the_same_name_are_found(start: MakeStart, tmp_path: Path) -> None:
    make_topic(f"embedded:{tmp_path / 'shop-data'}", "in")
    make_topic(f"embedded:{tmp_path / 'shop-dota'}", "other")

    error = refused(start(copying(), address=f"embedded:{tmp_path / 'shop-dat'}"))

    assert error.message == "source topics are missing: in"
    assert f"bootstrap.servers to embedded:{tmp_path / 'shop-data'}," in str(error.hint)


def test_another_kind_of_broker_is_left_to_the_start(start: MakeStart) -> None:
    make_topic("embedded:headrace-data", "in")
    preflight.check(start(copying(), address="localhost:9092"), *SPARK_CHECKS)


def test_bootstrap_servers_may_be_a_list() -> None:
    given = {"application.id": "app", "bootstrap.servers": ["embedded:data"]}
    assert preflight.broker_address(StreamsConfig(given)) == "embedded:data"
    assert preflight.broker_address(StreamsConfig({"application.id": "app"})) == "embedded:headrace-data"


def test_topics_that_are_nowhere_are_left_to_the_start(start: MakeStart, tmp_path: Path) -> None:
    make_topic(f"embedded:{tmp_path / 'data'}", "other")
    preflight.check(start(copying()), *SPARK_CHECKS, preflight.new_directory)


def test_a_directory_in_which_no_topic_can_be_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = {"application.id": "app", "bootstrap.servers": "embedded:my data", "state.dir": str(tmp_path / "state")}

    with pytest.raises(MissingSourceTopicError, match="source topics are missing: in") as caught:
        Streams(copying(), config, engine="local").start()

    assert f"there is no directory {tmp_path / 'my data'}." in str(caught.value.detail)
    assert str(caught.value.hint).endswith("headrace topics create in --broker 'embedded:my data'")
    assert not (tmp_path / "my data").exists()


def test_a_new_directory_is_made_for_a_program_that_names_no_topic(start: MakeStart) -> None:
    builder = StreamsBuilder()
    builder.stream(re.compile("in-.*")).to("out")
    assert preflight.new_directory(start(builder.build())) is None
    assert preflight.new_directory(start(copying(), address="localhost:9092")) is None


def test_functions_are_looked_at_last(start: MakeStart) -> None:
    from_here = (number for number in range(3))
    builder = StreamsBuilder()
    builder.stream("in").map_values(lambda value: next(from_here)).to("out")
    assert isinstance(refused(start(builder.build())), OperatorTypeError)
