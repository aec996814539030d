"""What goes on beside the batches of an application: a heartbeat, and upkeep of the broker and of local state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from headrace.batch.restore_notes import clear_notes, read_notes
from headrace.errors import BrokerGoneError, FencedError
from headrace.lifecycle import state_directory
from headrace.lifecycle.chores import Chore, Chores

if TYPE_CHECKING:
    from headrace.batch.application import Application
    from headrace.broker.port import Broker
    from headrace.lifecycle.restores import RestoreWatch

RENEWAL_SECONDS = 8.0
"""A lease lasts 30 s: two renewals may fail before another process can take over."""
_LOOK_SECONDS = 0.3
_UPKEEP_SECONDS = 30.0


class Held(Protocol):
    """An application that is held by a lease."""

    @property
    def application(self) -> Application:
        """As it is laid out now."""

    def renew_lease(self) -> None:
        """Hold it for another while; FencedError where somebody took it over."""


class Background:
    """Two threads: one for quick work that must be on time, one for work that may take long."""

    def __init__(
        self,
        broker: Broker,
        engine: Held,
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
        self._heartbeat.start()
        self._upkeep.start()

    def stop(self) -> None:
        """End; nothing here touches the broker afterwards."""
        self._upkeep.stop()
        self._heartbeat.stop()

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
