"""What goes on beside the batches of an application: a heartbeat, and upkeep of the broker and of local state."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from headrace.application.restore_notes import clear_notes, read_notes
from headrace.errors import BrokerGoneError, FencedError
from headrace.lifecycle import state_directory
from headrace.lifecycle.chores import Chore, Chores

if TYPE_CHECKING:
    from headrace.broker.port import Broker
    from headrace.lifecycle.engine import Engine
    from headrace.lifecycle.restores import RestoreWatch

RENEWAL_SECONDS = 8.0
"""A lease lasts 30 s: two renewals may fail before another process can take over."""
_LOOK_SECONDS = 0.3
_UPKEEP_SECONDS = 30.0


class Background:
    """Three threads: one for the lease, which must be on time, one for listeners, one for work that may take long."""

    def __init__(
        self,
        broker: Broker,
        engine: Engine,
        restores: RestoreWatch,
        on_fenced: Callable[[BaseException], None],
        follow_topics: Callable[[], None],
    ) -> None:
        self._engine = engine
        application = engine.application
        self._on_fenced = on_fenced
        self._is_fenced = False
        home, config = application.config.application_dir, application.config
        delay_ms = config["state.cleanup.delay.ms"]
        look_seconds = max(config["metadata.max.age.ms"] / 1000, _LOOK_SECONDS)
        clear_notes(home)
        self._heartbeat = Chores(
            "headrace-heartbeat",
            Chore("renewing the lease", self._renew, RENEWAL_SECONDS, delay=RENEWAL_SECONDS),
        )
        # Not beside the lease: this calls listeners, and one that takes its time must not cost the application.
        self._restores = Chores(
            "headrace-restores",
            Chore("looking for restores", lambda: restores.see(read_notes(home)), _LOOK_SECONDS),
        )
        self._upkeep = Chores(
            "headrace-upkeep",
            Chore("the broker's upkeep", broker.maintain, _UPKEEP_SECONDS),
            Chore(
                "cleaning the state directory",
                lambda: state_directory.clean_removed_tasks(home, self._tasks(), delay_ms),
                max(delay_ms / 1000, 1.0),
                delay=delay_ms / 1000,
            ),
            Chore("looking for topics and partitions", follow_topics, look_seconds, delay=look_seconds),
        )

    def start(self) -> None:
        for chores in (self._heartbeat, self._restores, self._upkeep):
            chores.start()

    def stop(self) -> None:
        with ExitStack() as stopping:
            for chores in (self._heartbeat, self._restores, self._upkeep):
                stopping.callback(chores.stop)

    def _tasks(self) -> set[str]:
        return {str(task) for task in self._engine.application.topics.task_ids()}

    def _renew(self) -> None:
        if self._is_fenced:
            return
        try:
            self._engine.renew_lease()
        except (FencedError, BrokerGoneError) as error:
            self._is_fenced = True
            self._on_fenced(error)
