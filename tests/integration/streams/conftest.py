"""Applications that use the Spark session of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace import Streams, Topology
from headrace.broker import open_broker
from headrace.broker.port import Broker, NewRecord

MakeApp = Callable[..., Streams]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with closing(open_broker(f"embedded:{tmp_path / 'data'}", fsync="never")) as broker:
        yield broker


@pytest.fixture
def make_app(tmp_path: Path, broker: Broker, spark: Any) -> Iterator[MakeApp]:
    made: list[Streams] = []

    def make(topology: Topology, **settings: Any) -> Streams:
        config = {"application.id": "app", "bootstrap.servers": broker.address, "state.dir": tmp_path / "state"}
        made.append(Streams(topology, {**config, **settings}, spark=spark))
        return made[-1]

    yield make
    for app in made:
        app.close()


def send(broker: Broker, topic: str, *values: str) -> None:
    """Append values without keys."""
    broker.append([NewRecord(topic, None, value.encode()) for value in values])
