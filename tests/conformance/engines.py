"""The engines that cases run on, and what each needs to be one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from headrace import Topology
from headrace.application.layout import Application
from headrace.batch.local import LocalEngine
from headrace.broker.port import Broker
from tests.conformance.spark_engine import on_spark


class Engine(Protocol):
    """Runs an application batch by batch on a broker."""

    @property
    def application(self) -> Application:
        """What the engine made of the topology and the topics."""

    def run_until_idle(self) -> int:
        """Batch after batch, until nothing is due."""

    def close(self) -> None:
        """Give the application back."""


class MakeEngine(Protocol):
    """Starts an engine."""

    def __call__(
        self, topology: Topology, settings: Mapping[str, Any], broker: Broker, *, clock: Callable[[], int]
    ) -> Engine:
        """The engine of an application."""


ENGINES: dict[str, MakeEngine] = {"batches": LocalEngine, "spark": on_spark}
"""By the name that the command line has for them."""
OWN_CLOCK = frozenset({"spark"})
"""Those that run on the clock of the machine: only cases for which ``needs_wall_clock`` is false can be compared."""
