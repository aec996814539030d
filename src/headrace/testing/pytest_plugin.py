"""The pytest plugin: a ``driver`` fixture that builds test drivers and closes them when the test ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from headrace import testing

if TYPE_CHECKING:
    from headrace.testing import TopologyTestDriver


@pytest.fixture
def driver() -> Iterator[Callable[..., TopologyTestDriver]]:
    """``driver(topology, config=None, wall_clock_ms=None)`` gives a driver that lives as long as the test.

    A StreamsBuilder does as well as a Topology.
    """
    with ExitStack() as drivers:

        def build(
            topology: Any, config: Mapping[str, Any] | None = None, wall_clock_ms: int | None = None
        ) -> TopologyTestDriver:
            if hasattr(topology, "build"):
                topology = topology.build(config)
            return drivers.enter_context(testing.TopologyTestDriver(topology, config, wall_clock_ms))

        yield build
