"""``app``: an application whose engine is a double."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace import Streams, StreamsBuilder, engines
from headrace.broker import open_broker
from tests.unit.lifecycle.engine_double import EngineDouble

MakeApp = Callable[..., Streams]


@pytest.fixture
def make_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeApp]:
    """Applications that are closed at the end of the test."""
    monkeypatch.setattr(engines, "spark_engine", lambda: (EngineDouble, lambda: None))
    with closing(open_broker(f"embedded:{tmp_path / 'data'}", fsync="never")) as broker:
        broker.create_topic("lines", 2)
        broker.create_topic("app-counts-changelog", 2)
    made = []

    def make(**settings: Any) -> Streams:
        builder = StreamsBuilder()
        builder.stream("lines").group_by_key().count("counts")
        config = {
            "application.id": "app",
            "client.id": "client",
            "bootstrap.servers": f"embedded:{tmp_path / 'data'}",
            "state.dir": tmp_path / "state",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        made.append(Streams(builder.build(), config))
        return made[-1]

    yield make
    for app in made:
        app.close()


@pytest.fixture
def app(make_app: MakeApp) -> Streams:
    return make_app()
