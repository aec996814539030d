"""The states of an application and the ways between them, as KafkaStreams.State has them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

from headrace.errors import IllegalStateError
from headrace.listeners import tell

log = logging.getLogger(__name__)


class StreamsState(Enum):
    """What an application is doing.

    >>> StreamsState.CREATED.may_become(StreamsState.RUNNING)
    False
    """

    CREATED = "CREATED"
    REBALANCING = "REBALANCING"
    RUNNING = "RUNNING"
    PENDING_SHUTDOWN = "PENDING_SHUTDOWN"
    NOT_RUNNING = "NOT_RUNNING"
    PENDING_ERROR = "PENDING_ERROR"
    ERROR = "ERROR"

    def __str__(self) -> str:
        return self.value

    @property
    def is_running_or_rebalancing(self) -> bool:
        """Whether records are processed now or soon."""
        return self in {StreamsState.RUNNING, StreamsState.REBALANCING}

    @property
    def is_shutting_down(self) -> bool:
        return self in {StreamsState.PENDING_SHUTDOWN, StreamsState.PENDING_ERROR}

    @property
    def has_ended(self) -> bool:
        return self in {StreamsState.NOT_RUNNING, StreamsState.ERROR}

    def may_become(self, new: StreamsState) -> bool:
        return new in _NEXT[self]


_NEXT: dict[StreamsState, frozenset[StreamsState]] = {
    StreamsState.CREATED: frozenset({StreamsState.REBALANCING, StreamsState.PENDING_SHUTDOWN}),
    StreamsState.REBALANCING: frozenset(
        {StreamsState.RUNNING, StreamsState.PENDING_SHUTDOWN, StreamsState.PENDING_ERROR}
    ),
    StreamsState.RUNNING: frozenset(
        {
            StreamsState.REBALANCING,
            StreamsState.RUNNING,
            StreamsState.PENDING_SHUTDOWN,
            StreamsState.PENDING_ERROR,
        }
    ),
    StreamsState.PENDING_SHUTDOWN: frozenset({StreamsState.NOT_RUNNING}),
    StreamsState.NOT_RUNNING: frozenset(),
    StreamsState.PENDING_ERROR: frozenset({StreamsState.ERROR}),
    StreamsState.ERROR: frozenset(),
}

# Requests that come too late are refused without an error, as in KafkaStreams.setState.
_IGNORED: dict[StreamsState, frozenset[StreamsState]] = {
    StreamsState.REBALANCING: frozenset({StreamsState.REBALANCING}),
    StreamsState.PENDING_SHUTDOWN: frozenset(StreamsState) - {StreamsState.NOT_RUNNING},
    StreamsState.NOT_RUNNING: frozenset({StreamsState.PENDING_SHUTDOWN, StreamsState.NOT_RUNNING}),
    StreamsState.PENDING_ERROR: frozenset(StreamsState) - {StreamsState.ERROR},
    StreamsState.ERROR: frozenset({StreamsState.PENDING_ERROR, StreamsState.ERROR, StreamsState.PENDING_SHUTDOWN}),
}

StateListener: TypeAlias = Callable[[StreamsState, StreamsState], object]
"""``(new, old)``."""


def _nothing() -> None:
    """What follows from most changes."""


class StateMachine:
    """The present state. Threads may change it and wait for it."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._changed = threading.Condition()
        self._state = StreamsState.CREATED
        self._listeners: list[StateListener] = []

    @property
    def state(self) -> StreamsState:
        return self._state

    def listen(self, listener: StateListener) -> None:
        """Tell ``listener`` of every change, in the thread that makes it."""
        self._listeners.append(listener)

    def become(self, new: StreamsState, then: Callable[[], object] = _nothing) -> bool:
        """Change the state; False if it is too late. A change that is never allowed is an IllegalStateError.

        What follows from the change, ``then``, is done when listeners have heard of it, whatever they raise.
        """
        with self._changed:
            old = self._state
            if new in _IGNORED.get(old, ()):
                return False
            if not old.may_become(new):
                message = f"application {self._client_id} cannot go from {old} to {new}"
                raise IllegalStateError(message)
            self._change(new)
        self._tell(new, old, then)
        return True

    def try_to_become(self, new: StreamsState, then: Callable[[], object] = _nothing) -> bool:
        """Change where that is possible, whatever has happened meanwhile in other threads."""
        with self._changed:
            old = self._state
            if not old.may_become(new):
                return False
            self._change(new)
        self._tell(new, old, then)
        return True

    def wait_for(self, *wanted: StreamsState, timeout: float | None = None) -> bool:
        """Wait until it is one of ``wanted``; False where ``timeout`` seconds were not enough."""
        with self._changed:
            return self._changed.wait_for(lambda: self._state in wanted, timeout)

    def _change(self, new: StreamsState) -> None:
        self._state = new
        self._changed.notify_all()

    def _tell(self, new: StreamsState, old: StreamsState, then: Callable[[], object]) -> None:
        # Outside of the lock: a listener may ask for the state, or close the application.
        try:
            tell("state", self._listeners, new, old)
            log.info("%s: state transition from %s to %s", self._client_id, old, new)
        finally:
            then()
