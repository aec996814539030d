"""A broker in a directory of its own, with clocks that stand still until told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.broker.embedded import EmbeddedBroker
from tests.unit.broker.scene import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def broker(tmp_path: Path, clock: FakeClock) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path / "data", fsync=False, clock=clock) as opened:
        yield opened
