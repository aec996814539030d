"""How all tests run: property tests draw other examples each time, the same ones in CI; Spark is started once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from headrace.config import StreamsConfig
from headrace.spark.session import open_session
from headrace.spark.worker_path import shared_import_path

# A shell that starts the tests in the background has Ctrl-C ignored, by them and by all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session as the engine opens it, with two tasks at a time."""
    config = {"application.id": "tests", "spark.local.dir": str(tmp_path_factory.mktemp("spark"))}
    with shared_import_path():
        session = open_session(StreamsConfig(config), threads=2)
    yield session
    session.stop()
