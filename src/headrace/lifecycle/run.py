"""One run of an application: broker, engine, supervisor, replicas, and what goes on beside them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.application.positions import lags
from headrace.broker import open_broker
from headrace.lifecycle import preflight, state_directory
from headrace.lifecycle.background import Background
from headrace.lifecycle.failures import UncaughtExceptionHandler
from headrace.lifecycle.restores import RestoreWatch
from headrace.lifecycle.states import StateMachine
from headrace.lifecycle.supervisor import Supervisor
from headrace.query.replicas import Replicas

if TYPE_CHECKING:
    from headrace.batch.reports import BatchReport
    from headrace.broker.port import Broker, TopicPartition
    from headrace.config import StreamsConfig
    from headrace.lifecycle.engine import EngineKind
    from headrace.topology import Topology


@dataclass(frozen=True)
class Hooks:
    handler: UncaughtExceptionHandler
    on_batch: Callable[[BatchReport], None]
    give_up: Callable[[BaseException], None]
    restores: RestoreWatch


class Run:
    """Made by ``start``; an error while it is made leaves nothing open."""

    def __init__(
        self,
        topology: Topology,
        config: StreamsConfig,
        states: StateMachine,
        hooks: Hooks,
        *,
        kind: EngineKind,
        threads: int,
        is_paused: bool,
    ) -> None:
        self._hooks = hooks
        where = preflight.broker_config(config)
        start = preflight.Start(config, where.address, topology, kind.session)
        preflight.check(start, *kind.checks, preflight.new_directory)
        with ExitStack() as undoing:
            self.broker: Broker = open_broker(where)
            undoing.callback(self.broker.close)
            self.engine = kind.make(
                topology, config.originals, self.broker, on_batch=self._on_batch, on_failure=self._on_failure
            )
            undoing.pop_all()
        self.replicas = Replicas(self.engine.application, self.broker)
        self.supervisor = Supervisor(
            self.engine, states, hooks.handler, threads=threads, is_paused=is_paused, give_up=hooks.give_up
        )
        self._background = Background(self.broker, self.engine, hooks.restores, self._on_failure, self._follow_topics)
        _clean_outdated(self.engine.application.config)

    def start(self) -> None:
        self._background.start()
        self.supervisor.start()

    def close(self) -> None:
        """End all of it, the engine first: what is beside it keeps the lease while the last batch runs."""
        with ExitStack() as ending:
            ending.callback(self.broker.close)
            ending.callback(self.replicas.close)
            ending.callback(self._background.stop)
            self.supervisor.close()

    def lags(self) -> dict[TopicPartition, int]:
        """Offsets still to be read, by partition."""
        return lags(self.engine.application, self.broker)

    def _on_batch(self, report: BatchReport) -> None:
        self.supervisor.batch_done()
        self._hooks.on_batch(report)

    def _follow_topics(self) -> None:
        self.supervisor.follow_topics()
        self.replicas.follow(self.engine.application)

    def _on_failure(self, error: BaseException) -> None:
        self.supervisor.failed(error)


def _clean_outdated(config: StreamsConfig) -> None:
    max_age_ms = config["state.cleanup.dir.max.age.ms"]
    if max_age_ms >= 0:
        state_directory.clean_outdated_tasks(config.application_dir, max_age_ms)
