"""A small application with a store of every kind, and the means to run it batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace import SessionWindows, StreamsBuilder, TimeWindows, Topology, stores
from headrace.batch.local import LocalEngine
from headrace.broker import open_broker
from headrace.broker.port import Broker, NewRecord
from headrace.query.replicas import Replicas


def every_kind() -> Topology:
    builder = StreamsBuilder()
    views = builder.stream("views")
    grouped = views.group_by_key()
    grouped.count("counts")
    grouped.count(stores.in_memory("in-memory"))
    grouped.count(stores.lru("recent", 10))
    grouped.count("secret", logging=False)
    grouped.windowed_by(TimeWindows(10, grace=100)).count("windows")
    grouped.windowed_by(SessionWindows(5, grace=100)).count("sessions")
    builder.table("users", store="users")
    builder.table("prices", store=stores.versioned("prices", 1000))
    builder.global_table("regions", store="regions")
    return builder.build({"topology.optimization": "all"})


@dataclass
class Scene:
    """The application ``app`` over a broker of its own."""

    broker: Broker
    directory: Path

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "application.id": "app",
            "state.dir": str(self.directory / "state"),
            "topology.optimization": "all",
            "max.records.per.batch": 100,
        }

    def append(self, topic: str, *pairs: tuple[str | None, str | None], at: int = 0) -> None:
        """Append texts, all at one time."""
        records = [(None if k is None else k.encode(), None if v is None else v.encode()) for k, v in pairs]
        self.broker.append(NewRecord(topic, key, value, at) for key, value in records)

    def run(self) -> None:
        """Process and commit what there is."""
        with LocalEngine(every_kind(), self.settings, self.broker) as engine:
            engine.run_until_idle()

    def replicas(self) -> Replicas:
        return Replicas.of(every_kind(), self.settings, self.broker)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with closing(open_broker(f"embedded:{tmp_path / 'broker'}", fsync="never")) as broker:
        for topic in ("views", "users", "prices", "regions"):
            broker.create_topic(topic, 2)
        yield Scene(broker, tmp_path)


@pytest.fixture
def replicas(scene: Scene) -> Iterator[Replicas]:
    with scene.replicas() as replicas:
        yield replicas
