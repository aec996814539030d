"""A thread that publishes beside the staged data: it follows the control topic, and a decision is its order."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from headrace.broker.kafka.control import ControlReader
from headrace.broker.kafka.publishing import Publisher, parts_of
from headrace.errors import BrokerUnreachableError, FencedError, HeadraceError, in_short

if TYPE_CHECKING:
    from headrace.broker.kafka.clients import Clients
    from headrace.broker.kafka.staging_directory import StagingDirectory

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.1
"""How long it waits for news at a time. Whoever closes it waits for that."""
_RETRY_SECONDS = 1.0
_END_SECONDS = 10.0


class FollowingPublisher:
    """Publishes the part of one publisher, of decisions of one epoch, until it is closed or replaced.

    What it cannot publish the driver publishes after a while.
    """

    def __init__(
        self, clients: Clients, application: str, epoch: int, number: int, directory: StagingDirectory
    ) -> None:
        self.application, self.epoch = application, epoch
        self._reader = ControlReader(clients, application)
        self._publisher = Publisher(clients, self._reader, number, epoch, directory)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"headrace-publisher-{number}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._ended.set()
        self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        try:
            # What it takes to begin is done before the first decision waits for it.
            self._publisher.begin()
            while not self._ended.is_set() and not self._is_replaced:
                self._step()
        except FencedError as error:
            log.info("this publisher of %s ends: %s", self.application, in_short(error))
        except HeadraceError:
            log.exception("this publisher of %s ends, and leaves its part to the driver", self.application)
        finally:
            self._publisher.close()
            self._reader.close()

    def _step(self) -> None:
        try:
            self._reader.follow(_LOOK_SECONDS)
            self._publish()
        except BrokerUnreachableError as error:
            log.warning("what was decided is published later: %s", in_short(error))
            self._ended.wait(_RETRY_SECONDS)

    def _publish(self) -> None:
        decision = self._reader.state.unpublished
        if decision is not None and decision.epoch == self.epoch:
            part = parts_of(self._reader.state).get(self._publisher.number)
            if part is not None:
                self._publisher.publish(decision, part)

    @property
    def _is_replaced(self) -> bool:
        owner = self._reader.state.owner
        return owner is not None and (owner.epoch > self.epoch or (owner.epoch == self.epoch and owner.is_released))
