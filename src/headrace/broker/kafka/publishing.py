"""Publishing what was decided: each publisher its part, in one transaction with a mark that says so.

A part belongs to a publisher, and only sessions with its transactional id publish it: whoever finishes the part of a
publisher that is gone fences it by that. In a new session the control topic is read before anything is sent: the mark
may be there already, or the application may be another's.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import msgspec

from headrace.broker.kafka import crash_points
from headrace.broker.kafka.control import MARK, ControlReader, ControlState, DecisionRecord, MarkRecord
from headrace.broker.kafka.held_group import HeldGroup
from headrace.broker.kafka.owned import fenced, merged
from headrace.broker.kafka.sending import Sender, chunks_of
from headrace.broker.kafka.staging import Staged, staged_of
from headrace.broker.kafka.transactions import Session
from headrace.broker.port import Outcome
from headrace.errors import BrokerUnreachableError
from headrace.failpoints import reach

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from headrace.broker.kafka.clients import Clients
    from headrace.broker.kafka.staging_directory import StagingDirectory

log = logging.getLogger(__name__)

_TRIES = 5
_WAIT_SECONDS = 5.0
_SLOWEST = 20_000
"""How many records a publisher sends in a second at the least, before it is taken for dead."""
_LOOK_SECONDS = 0.005
_AT_ONCE = 16


def publisher_id(application: str, number: int) -> str:
    """The transactional id of a publisher."""
    return f"{application}-headrace-publisher-{number}"


def parts_of(state: ControlState) -> dict[int, list[Staged]]:
    """What each publisher has left to publish of the last decision."""
    decision = state.unpublished
    parts: dict[int, list[Staged]] = {}
    if decision is not None:
        for staged in map(staged_of, state.handovers):
            mark = state.marks.get(staged.publisher)
            if mark is None or mark.batch_id < decision.batch_id:
                parts.setdefault(staged.publisher, []).append(staged)
    return parts


def fence(clients: Clients, reader: ControlReader, numbers: Iterable[int]) -> None:
    """End what these publishers have under way: one that was killed would hide for a minute what comes after it.

    A transaction that was open is given up then, one that was committing is complete: which of the two, its mark says.
    All at once, without a check: while one of them is open, the control topic is not definite for the others.
    """
    sessions = [Session(clients, publisher_id(reader.application, each), reader.topic, _unchecked) for each in numbers]
    if sessions:
        with ThreadPoolExecutor(min(_AT_ONCE, len(sessions))) as threads:
            list(threads.map(Session.begin, sessions))
    for session in sessions:
        session.discard()


def fence_unfinished(clients: Clients, reader: ControlReader) -> None:
    """The same of all that have not marked their part of the last decision, as far as can be read."""
    # Nobody publishes before the decision can be read, so that it lies before all that may be under way.
    fence(clients, reader, parts_of(reader.catch_up()))


def _unchecked() -> None:
    """For sessions without a transaction."""


def patience(state: ControlState) -> float:
    """How many seconds publishers may take for what is left, before they are taken for dead."""
    return _WAIT_SECONDS + sum(each.records for part in parts_of(state).values() for each in part) / _SLOWEST


class Publisher:
    """One of the publishers of an application, as this process stands in for it."""

    def __init__(
        self,
        clients: Clients,
        reader: ControlReader,
        number: int,
        epoch: int,
        directory: StagingDirectory,
    ) -> None:
        self.number, self._epoch = number, epoch
        self._application, self._reader = reader.application, reader
        self._clients, self._directory = clients, directory
        self._last = MarkRecord(-1, {})
        """The last mark that is known to count."""
        self._session = Session(clients, publisher_id(self._application, number), reader.topic, self._check)
        self._group = HeldGroup(clients, self._application)

    def begin(self) -> None:
        """Fence whoever else published this part."""
        self._session.begin()

    def publish(self, decision: DecisionRecord, part: list[Staged]) -> None:
        """Publish its part of a batch, unless it is published by now. FencedError where the group has gone on since."""
        batch_id = decision.batch_id
        for _ in range(_TRIES):
            self._session.begin()
            self._know(self._reader.state.marks.get(self.number))
            if self._last.batch_id >= batch_id:
                return
            marks: list[MarkRecord] = []
            if self._session.run(self._writing(decision, part, marks.append), crash_points.PUBLISHING) is Outcome.DONE:
                # Our own mark comes to be read a little later.
                self._know(marks[-1])
                reach(crash_points.PART_PUBLISHED)
                return
            self._session.begin()
            self._reader.definite()
        message = f"batch {batch_id} of {self._application} cannot be published: the broker does not answer"
        raise BrokerUnreachableError(message)

    def close(self) -> None:
        """End the session."""
        self._session.discard()
        self._group.close()

    def _know(self, mark: MarkRecord | None) -> None:
        if mark is not None and mark.batch_id > self._last.batch_id:
            self._last = mark

    def _writing(
        self, decision: DecisionRecord, part: list[Staged], tell: Callable[[MarkRecord], None]
    ) -> Callable[[Producer], None]:
        def write(producer: Producer) -> None:
            sender = Sender(self._clients, producer, f"{self._application}-")
            for staged in part:
                sender.send(chunks_of(staged, self._directory, {}))
            sender.flush(self._clients.timeout)
            mark = MarkRecord(decision.batch_id, merged(self._last.ends, sender.ends))
            tell(mark)
            producer.produce(self._reader.topic, msgspec.msgpack.encode(mark), MARK + str(self.number).encode(), 0)
            self._group.keep(producer, decision)

        return write

    def _check(self) -> None:
        owner = self._reader.definite().owner
        if owner is not None and (owner.epoch > self._epoch or (owner.epoch == self._epoch and owner.is_released)):
            raise fenced(self._application, self._epoch, owner)


class Publishers:
    """The publishers that this process stands in for, by their numbers."""

    def __init__(self, clients: Clients, reader: ControlReader, epoch: int, directory: StagingDirectory) -> None:
        self._clients, self._reader, self._epoch, self._directory = clients, reader, epoch, directory
        self._publishers: dict[int, Publisher] = {}
        self._lock = threading.Lock()

    def wait_and_finish(self, batch_id: int) -> None:
        """Leave a batch to its publishers for as long as that may take; then do what they have not done."""
        self._see(batch_id)
        deadline = time.monotonic() + patience(self._reader.state)
        while parts_of(self._reader.state) and time.monotonic() < deadline:
            self._look()
        if left := sorted(parts_of(self._reader.state)):
            log.warning("the driver of %s publishes for publishers that did not: %s", self._reader.application, left)
        self.finish(batch_id)

    def finish(self, batch_id: int) -> None:
        """Publish all parts of a batch, the last that was decided, that nobody has published."""
        self._see(batch_id)
        parts = parts_of(self._reader.catch_up())
        if not parts:
            return
        # First all of them: a transaction that a dead publisher has left hides the marks of the others.
        fence(self._clients, self._reader, parts)
        for number in parts:
            self.publisher(number).begin()
        state = self._reader.definite()
        for number, part in parts_of(state).items():
            assert state.decision is not None
            self.publisher(number).publish(state.decision, part)

    def _see(self, batch_id: int) -> None:
        """Wait until the decision can be read. Its commit is answered earlier: nothing seems to be left till then."""
        deadline = time.monotonic() + self._clients.timeout
        while (decision := self._reader.state.decision) is None or decision.batch_id < batch_id:
            if time.monotonic() > deadline:
                message = f"the decision of batch {batch_id} of {self._reader.application} cannot be read"
                raise BrokerUnreachableError(message, hint="The broker is slow or gone; it is tried again.")
            self._look()

    def _look(self) -> None:
        """See what is new. The pause is outside of the reader: whoever renews the lease meanwhile needs it, too."""
        if not self._reader.follow(0.0):
            time.sleep(_LOOK_SECONDS)

    def publisher(self, number: int) -> Publisher:
        """The publisher of that number."""
        with self._lock:
            found = self._publishers.get(number)
            if found is None:
                new = Publisher(self._clients, self._reader, number, self._epoch, self._directory)
                found = self._publishers[number] = new
            return found

    def close(self) -> None:
        """End their sessions."""
        with self._lock:
            while self._publishers:
                self._publishers.popitem()[1].close()
