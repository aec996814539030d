"""The typed layer: serdes from the configuration, metrics, positions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace import serde
from headrace.config import StreamsConfig
from headrace.errors import SerializationError, StreamsError
from headrace.state import stores
from headrace.state.position import Position
from tests.unit.state.fake_context import FakeContext


class Sensor:
    def __init__(self) -> None:
        self.times: list[int] = []

    def record(self, nanoseconds: int) -> None:
        self.times.append(nanoseconds)


class Metrics:
    def __init__(self) -> None:
        self.sensors: dict[tuple[str, str, str], Sensor] = {}

    def store_sensor(self, scope: str, store: str, operation: str) -> Sensor:
        return self.sensors.setdefault((scope, store, operation), Sensor())


def opened(context: FakeContext, **serdes: Any) -> Any:
    store = stores.key_value(stores.in_memory("s"), **serdes).build()
    store.init(context)
    return store


def test_serdes_left_open_are_those_of_the_configuration(tmp_path: Path) -> None:
    context = FakeContext(tmp_path)
    context.config = StreamsConfig({"application.id": "app", "default.value.serde": serde.long()})
    store = opened(context)
    store.put("a", 5)

    assert context.changelog[0][:2] == (b"a", (5).to_bytes(8, "big"))


def test_without_any_serde_the_store_cannot_start(tmp_path: Path) -> None:
    context = FakeContext(tmp_path)
    context.config = StreamsConfig({"application.id": "app", "default.value.serde": None})

    with pytest.raises(StreamsError, match="store s has no serdes"):
        opened(context)


def test_a_value_of_the_wrong_type_is_refused_and_not_stored(tmp_path: Path) -> None:
    context = FakeContext(tmp_path)
    store = opened(context, value_serde=serde.long())

    with pytest.raises(SerializationError):
        store.put("a", "text")
    assert store.get("a") is None
    assert context.changelog == []


def test_operations_are_timed_and_iterators_until_they_are_closed(tmp_path: Path) -> None:
    context = FakeContext(tmp_path)
    context.metrics = metrics = Metrics()
    store = opened(context)
    store.put("a", "1")
    store.get("a")
    store.get("b")
    entries = store.all()

    assert len(metrics.sensors["in-memory", "s", "put"].times) == 1
    assert len(metrics.sensors["in-memory", "s", "get"].times) == 2
    assert metrics.sensors["in-memory", "s", "all"].times == []
    assert list(entries) == [("a", "1")]
    entries.close()
    assert len(metrics.sensors["in-memory", "s", "all"].times) == 1


def test_a_store_knows_the_offsets_that_changed_it(tmp_path: Path) -> None:
    context = FakeContext(tmp_path)
    store = opened(context)
    assert store.position == Position()
    context.at(1, offset=7)
    store.put("a", "1")
    context.at(1, offset=8)
    store.get("a")

    assert store.position == Position({"in": {0: 7}})


def test_a_timed_store_without_its_cache_is_the_one_beneath(tmp_path: Path) -> None:
    context = FakeContext(tmp_path)
    context.metrics = Metrics()
    store = stores.key_value(stores.in_memory("s")).with_caching_enabled().build()
    store.init(context)
    store.put("a", "1")

    assert store.get("a") == "1"
    assert store.uncached().get("a") is None
