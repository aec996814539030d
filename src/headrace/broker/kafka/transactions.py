"""Transactions with an id that fences: whoever begins a session with the id ends that of everybody before it.

A producer is used as long as nothing went wrong with it. After any error it is thrown away, and the next transaction
begins a session of its own, which waits until whatever the last one had under way is definite. Since that fences others
as well, even a legitimate successor, each session *checks* first whether it may go on. Who was fenced without reason
finds that it may, and begins another one; who was replaced finds that it may not, and stops for good.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from headrace.broker.kafka.failures import AFTER_FENCING, DENIED
from headrace.broker.port import Outcome
from headrace.errors import BrokerUnreachableError
from headrace.failpoints import reach

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from headrace.broker.kafka.clients import Clients

_QUEUE = {
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 256 * 1024,
    # What topics take was checked when it was staged.
    "message.max.bytes": 1_000_000_000,
    "linger.ms": 5,
}


class Session:
    """A transactional id, as this process uses it. Safe in threads: one transaction at a time."""

    def __init__(self, clients: Clients, transactional_id: str, topic: str, check: Callable[[], None]) -> None:
        """``check`` is called in each new session before its first transaction; it raises where this must stop.

        ``topic`` is one that it writes to.
        """
        self.transactional_id = transactional_id
        self._clients, self._topic, self._check = clients, topic, check
        self._producer: Producer | None = None
        self._outages = 0
        self._lock = threading.RLock()

    def begin(self) -> None:
        """Begin a session now, unless there is one: others are fenced, what they had under way is definite."""
        with self._lock, self._clients.waiting():
            self._opened()

    def run(self, write: Callable[[Producer], None], point: str) -> Outcome:
        """One transaction. An error, or ``not done``, means that nothing of it counts; ``unknown`` that nobody knows.

        ``point`` is the failpoint between the last record and the commit.
        """
        with self._lock, self._clients.waiting():
            producer = self._opened()
            try:
                producer.begin_transaction()
                write(producer)
                reach(point)
            except KafkaException as error:
                self.discard()
                if error.args[0].code() not in AFTER_FENCING:
                    raise self._clients.failure(error, f"a transaction of {self.transactional_id}") from error
                # By whom it was fenced says the check in a new session: it raises where that was a successor.
                self._opened()
                return Outcome.NOT_DONE
            except BaseException:
                self.discard()
                raise
            try:
                producer.commit_transaction(self._clients.timeout)
            except KafkaException as error:
                self.discard()
                if error.args[0].code() in DENIED:
                    raise self._clients.failure(error, f"a transaction of {self.transactional_id}") from error
                if error.args[0].code() in AFTER_FENCING:
                    with suppress(BrokerUnreachableError):
                        self._opened()
                return Outcome.UNKNOWN
            return Outcome.DONE

    def discard(self) -> None:
        """Throw the producer away, with what it had not sent."""
        with self._lock:
            producer, self._producer = self._producer, None
            if producer is not None:
                producer.purge()

    def _opened(self) -> Producer:
        # One that lived through an outage may wait for its coordinator for minutes, whatever limit it is given.
        if self._outages != self._clients.outages:
            self.discard()
        if self._producer is None:
            self._outages = self._clients.outages
            settings = {**_QUEUE, "transactional.id": self.transactional_id}
            producer = self._clients.producer(settings)
            try:
                # Once it is connected: librdkafka asks for the coordinator at once, and then every half second.
                producer.list_topics(self._topic, self._clients.timeout)
                producer.init_transactions(self._clients.timeout)
            except KafkaException as error:
                # So that we hear what it complained of meanwhile: that may be the reason.
                producer.poll(0)
                raise self._clients.failure(error, f"cannot begin a session of {self.transactional_id}") from error
            self._check()
            self._producer = producer
        return self._producer
