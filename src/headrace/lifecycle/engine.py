"""What runs a laid-out application: in one process, on Spark, or in whatever way there will be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.batch.reports import BatchReport, BatchUnderWay
    from headrace.broker.port import Broker
    from headrace.lifecycle.preflight import Check
    from headrace.topology import Topology


class Engine(Protocol):
    """Owns an application from its making to ``close``. ``start`` may follow ``stop``; after ``close`` it is over."""

    @property
    def application(self) -> Application: ...

    @property
    def batch_under_way(self) -> BatchUnderWay | None: ...

    @property
    def has_new_topics(self) -> bool:
        """Whether other topics, or other partitions, are to be read than those that are."""

    def start(self) -> None:
        """Begin to run batches; returns when they run."""

    def stop(self, timeout: float | None = None) -> bool:
        """End between two batches; False where that takes longer than ``timeout`` seconds."""

    def run_until_idle(self) -> int:
        """Wait until nothing is due any more; how many batches that took. Raises what made one fail."""

    def set_threads(self, count: int) -> None:
        """Run that many tasks at the same time, where the engine can."""

    def lay_out_again(self) -> None:
        """Stop, and read the topics there are now from the next start on."""

    def renew_lease(self) -> None:
        """Own the application for another while; FencedError where somebody took it over."""

    def dataframe(self, table: Any) -> Any:
        """An Arrow table as a Spark DataFrame; an UnsupportedError where there is no Spark."""

    def close(self) -> None:
        """Stop, and give the application back."""


class EngineFactory(Protocol):
    """Makes an engine, and the application its own."""

    def __call__(
        self,
        topology: Topology,
        settings: Mapping[str, Any],
        broker: Broker,
        *,
        on_batch: Callable[[BatchReport], None],
        on_failure: Callable[[BaseException], None],
    ) -> Engine:
        """``on_failure`` hears why batches are run no longer, until ``start`` is called again."""


@dataclass(frozen=True)
class EngineKind:
    """How to make an engine, and what is looked at before."""

    make: EngineFactory
    checks: tuple[Check, ...] = ()
    session: Any = None
    """The SparkSession that is there already."""
