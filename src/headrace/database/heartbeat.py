"""Signs of life of the process that runs the queries.

A broker of several machines cannot tell whether a process of another one has died without a word. So whoever runs the
queries decides something from time to time, and who would like to run them watches whether that goes on.
"""

from __future__ import annotations

import time

from headrace.broker import embedded_directory
from headrace.broker.port import Broker, Lease, Owner
from headrace.database.deciding import decide, decided

SILENT_SECONDS = 30.0


class Heartbeat:
    """Of the one process that has the lease of ``application``. ``silent_seconds``: after so long it counts as gone."""

    def __init__(self, broker: Broker, application: str, silent_seconds: float = SILENT_SECONDS) -> None:
        self._broker, self._application, self._silent_seconds = broker, application, silent_seconds
        # The leases of an embedded broker end by themselves, unless they are renewed.
        self._is_needed = embedded_directory(broker.address) is None
        self._seen: tuple[Owner, int] | None = None
        self._since = 0.0

    def beat(self, lease: Lease) -> None:
        """Give a sign; FencedError where another process has the lease."""
        if self._is_needed:
            decide(self._broker, lease)

    def is_silent(self, owner: Owner) -> bool:
        """Whether the owner has given no sign for a long time, counted from when this was first asked."""
        sign = owner, decided(self._broker, self._application)
        if sign != self._seen:
            self._seen, self._since = sign, time.monotonic()
        return time.monotonic() - self._since > self._silent_seconds
