"""A broker for each test on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker.embedded import EmbeddedBroker


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    """An empty broker."""
    with EmbeddedBroker(tmp_path / "broker", fsync=False) as broker:
        yield broker
