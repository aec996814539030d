"""Functions that cannot be sent to a worker are named, with what they have captured."""

from __future__ import annotations

import functools
import socket
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace import Processor, StreamsBuilder, serdes, stores
from headrace.errors import ConfigError, HeadraceError, OperatorTypeError
from headrace.spark.travel import check_travel
from headrace.topology import Topology


def mapping(function: Callable[[Any], Any]) -> Topology:
    builder = StreamsBuilder()
    builder.stream("in").map_values(function, name="shout").to("out")
    return builder.build()


def refused(topology: Topology) -> HeadraceError:
    error = check_travel(topology, {"application.id": "app"})
    assert error is not None
    return error


def line_of(function: Any) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno}"


def test_what_can_travel_may() -> None:
    words = {"a": [1, 2]}
    assert check_travel(mapping(lambda value: words[value]), {"application.id": "app", "mine": str.upper}) is None


def test_the_captured_name_is_told_with_the_line_of_the_function_and_the_operator() -> None:
    lock = threading.Lock()

    def safe(value: Any) -> Any:
        with lock:
            return value

    error = refused(mapping(safe))

    assert isinstance(error, OperatorTypeError)
    assert error.message == (
        "a function cannot be sent to the workers: safe() uses lock, which is a lock "
        "(cannot pickle '_thread.lock' object)"
    )
    assert "Open it there: in init() of a Processor" in str(error.hint)
    assert str(error.at).startswith(f"{line_of(safe)}, {__file__}:")
    assert str(error.at).endswith(", node shout")


def things() -> list[tuple[str, Any, str]]:
    return [
        ("a connection", sqlite3.connect(":memory:"), "a Connection"),
        ("a socket", socket.socket(), "a socket"),
        ("a thread", threading.Thread(), "a Thread"),
        ("a generator", (each for each in "ab"), "a generator"),
        ("a file", Path("/dev/null").open("w"), "a TextIOWrapper"),
    ]


@pytest.mark.parametrize(("thing", "shown"), [pytest.param(one, shown, id=name) for name, one, shown in things()])
def test_what_belongs_to_a_process_is_refused(thing: Any, shown: str) -> None:
    error = refused(mapping(lambda value: (value, thing)))
    assert f"a lambda uses thing, which is {shown} (" in error.message


class Client:
    def __init__(self) -> None:
        self.options = {"retry": threading.Lock()}

    def ask(self, value: Any) -> Any:
        return value


def test_the_way_to_it_is_told() -> None:
    client = Client()
    assert "a lambda uses client.options['retry'], which is a lock" in refused(mapping(lambda v: client.ask(v))).message
    assert "a Client uses options['retry'], which is a lock" in refused(mapping(client.ask)).message
    partial = functools.partial(Client.ask, client)
    assert "a Client uses options['retry'], which is a lock" in refused(mapping(partial)).message


def test_functions_that_functions_use_are_looked_at() -> None:
    lock = threading.Lock()

    def helper() -> Any:
        return lock

    assert "a lambda uses helper.lock, which is a lock" in refused(mapping(lambda value: helper())).message


def test_functions_with_a_cache_are_looked_at() -> None:
    lock = threading.Lock()

    @functools.cache
    def cached(value: Any) -> Any:
        return value, lock

    assert "cached() uses lock, which is a lock" in refused(mapping(cached)).message


def test_defaults_are_looked_at_too() -> None:
    def locked(value: Any, one: Any = threading.Lock()) -> Any:  # noqa: B008
        return one

    assert "locked() uses one, which is a lock" in refused(mapping(locked)).message


def test_so_are_suppliers_of_processors() -> None:
    lock = threading.Lock()

    class Locked(Processor):
        def process(self, record: Any) -> None:
            with lock:
                self.context.forward(record)

    builder = StreamsBuilder()
    builder.stream("in").process(Locked, name="locked")

    error = refused(builder.build())

    assert "the class Locked uses process.lock, which is a lock" in error.message
    assert str(error.at).endswith(", node locked")


class LockedSerde(serdes.Serde[Any]):
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def serialize(self, topic: str, value: Any) -> bytes:
        return b""

    def deserialize(self, topic: str, data: bytes | None) -> Any:
        return None


def test_so_are_serdes_partitioners_and_stores() -> None:
    lock = threading.Lock()
    builder = StreamsBuilder()
    builder.stream("in", value_serde=LockedSerde(), name="source")
    assert str(refused(builder.build()).at).endswith(", node source")

    builder = StreamsBuilder()
    builder.stream("in").to("out", partitioner=lambda topic, key, value, count: id(lock), name="sink")
    assert str(refused(builder.build()).at).endswith(", node sink")

    builder = StreamsBuilder()
    builder.add_state_store(stores.key_value(stores.in_memory("seen"), value_serde=LockedSerde()))
    builder.stream("in").process(Processor, stores=["seen"])
    error = refused(builder.build())
    assert "a LockedSerde uses lock" in error.message
    assert str(error.at).endswith("store seen")


def test_a_setting_is_named() -> None:
    error = check_travel(mapping(str.upper), {"application.id": "app", "my.lock": threading.Lock()})
    assert isinstance(error, ConfigError)
    assert error.message.startswith("the setting my.lock cannot be sent to the workers: it is a lock")


def test_the_captured_name_is_told_where_headrace_is_installed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headrace, "__file__", "/venv/lib/python3/site-packages/headrace/__init__.py")
    lock = threading.Lock()

    assert "a lambda uses lock, which is a lock" in refused(mapping(lambda value: (lock, value))).message
