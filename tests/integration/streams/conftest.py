"""Applications on both engines: that of one process, and Spark with the session of the tests."""

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


ON_SPARK = pytest.mark.parametrize("make_app", ["spark"], indirect=True)
"""For what only Spark can do."""


@pytest.fixture(params=["local", "spark"])
def make_app(tmp_path: Path, broker: Broker, request: pytest.FixtureRequest) -> Iterator[MakeApp]:
    made: list[Streams] = []
    options = {"spark": request.getfixturevalue("spark")} if request.param == "spark" else {"engine": "local"}

    def make(topology: Topology, **settings: Any) -> Streams:
        config = {"application.id": "app", "bootstrap.servers": broker.address, "state.dir": tmp_path / "state"}
        made.append(Streams(topology, {**config, **settings}, **options))
        return made[-1]

    yield make
    for app in made:
        app.close()


def send(broker: Broker, topic: str, *values: str) -> None:
    """Append values without keys."""
    broker.append([NewRecord(topic, None, value.encode()) for value in values])
