"""The group of an application, held in its place while a transaction of ours counts.

Kafka takes offsets without comparing anything: who slept while somebody else ran the application could turn its group
back, and let results count that are there already. Three things together keep that from happening, in this order:

* a transaction sends offsets, which is refused while the group has members;
* who joins later is not told where to begin before that transaction has ended (``UNSTABLE_OFFSET_COMMIT``, which every
  consumer of Java's waits out), and one that nobody ends the broker gives up after ``transaction.timeout.ms``;
* so whoever ran the application did it before the offsets were sent, and has moved the group by then: it is asked for
  what is committed, beside what is under way.

That holds however long the process sleeps, and wherever: no clock is asked. It takes half a millisecond.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from headrace.broker.kafka.exact_offsets import send_offsets
from headrace.broker.kafka.groups import HAS_MEMBERS, committed_of
from headrace.broker.port import OffsetAndMetadata
from headrace.broker.port import TopicPartition as Place
from headrace.commands import reset
from headrace.errors import FencedError

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

    from headrace.broker.kafka.clients import Clients
    from headrace.broker.kafka.control import DecisionRecord

_LATE_SECONDS = 2.0
"""For so long it may be told where the group was before our last commit, which is answered a little earlier."""
_PAUSE_SECONDS = 0.02
_TRIES = 5
_ONE_AT_A_TIME = "One at a time: stop every instance of Kafka Streams before this is started again."


def moves(begins: Mapping[Place, int], found: Mapping[Place, OffsetAndMetadata]) -> dict[Place, OffsetAndMetadata]:
    """Where the group is no more where it was, and has not forgotten it. Below 0 is what was not committed.

    >>> a, b, c = ("in", 0), ("in", 1), ("in", 2)
    >>> moves({a: 3, b: 3, c: 3}, {a: OffsetAndMetadata(3), b: OffsetAndMetadata(4)})
    {('in', 1): OffsetAndMetadata(offset=4, metadata='')}
    """
    return {place: at for place, at in found.items() if begins[place] != at.offset}


def are_by_streams(moved: Mapping[Place, OffsetAndMetadata]) -> bool:
    """Whether Kafka Streams ran the application: its offsets have metadata, those that are set by hand none."""
    return any(at.metadata for at in moved.values())


def told(begins: Mapping[Place, int], moved: Mapping[Place, OffsetAndMetadata]) -> str:
    """From where to where, for errors."""
    return ", ".join(
        f"{place[0]}-{place[1]} {'none' if begins[place] < 0 else begins[place]}, {at.offset}"
        for place, at in moved.items()
    )


def overtaken(application: str, batch_id: int, moved: str, address: str) -> FencedError:
    """Somebody who does not know of our decisions ran the application between a decision and its publication."""
    message = f"batch {batch_id} of {application} was decided and not published, and somebody else has gone on since"
    detail = f"Offsets at the decision, and now: {moved}. Published now, its results would count twice."
    hint = f"After a crash run it with --finish before Kafka Streams does. Now let it start over: {reset(address)}"
    return FencedError(message, detail=detail, hint=hint)


def _joined(application: str) -> FencedError:
    """Kafka Streams was started beside us. Nothing of the transaction counts."""
    message = f"application {application} was taken over: its consumer group has members"
    return FencedError(message, hint=_ONE_AT_A_TIME)


def _moved(application: str, moved: str, *, is_by_streams: bool) -> FencedError:
    """The same, and it has ended; or somebody set offsets while we ran. Nothing of the transaction counts."""
    detail = f"Offsets that were committed here, and now: {moved}."
    if is_by_streams:
        message = f"application {application} was taken over: its consumer group moved"
        return FencedError(message, detail=detail, hint=_ONE_AT_A_TIME)
    message = f"offsets of application {application} were set by hand while it ran"
    hint = "Start it again: it goes on from there. The next time stop it before."
    return FencedError(message, detail=detail, hint=hint)


class HeldGroup:
    """One process's eye on the group of an application."""

    def __init__(self, clients: Clients, application: str) -> None:
        self._clients, self._application = clients, application
        self._outages = -1
        self._consumer: Consumer | None = None
        self._known: dict[Place, int] = {}
        """Where its owner has left it."""

    def know(self, offsets: Mapping[Place, OffsetAndMetadata]) -> None:
        """There its owner has left it."""
        self._known = {**self._known, **{place: at.offset for place, at in offsets.items()}}

    def commit(
        self, producer: Producer, offsets: Mapping[Place, OffsetAndMetadata], begins: Mapping[Place, int]
    ) -> None:
        """The owner's: let offsets count with the transaction, unless the group is not where we have left it.

        ``begins``: where it may be that had committed nothing, since we began to read there; -1 for nowhere.
        """
        self._send(producer, offsets)
        expected = {**begins, **self._known}
        deadline = time.monotonic() + _LATE_SECONDS
        while moved := moves(expected, self._committed(expected)):
            if time.monotonic() > deadline:
                producer.abort_transaction(self._clients.timeout)
                raise _moved(self._application, told(expected, moved), is_by_streams=are_by_streams(moved))
            time.sleep(_PAUSE_SECONDS)

    def keep(self, producer: Producer, decision: DecisionRecord) -> None:
        """A publisher's: leave the group where it is, which is where it was at the decision or was put by hand."""
        begins, deadline = decision.begins, time.monotonic() + _LATE_SECONDS
        while are_by_streams(moved := moves(begins, self._held(producer, begins))):
            if time.monotonic() > deadline:
                producer.abort_transaction(self._clients.timeout)
                text = told(begins, moved)
                raise overtaken(self._application, decision.batch_id, text, self._clients.address)
            time.sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        """End the consumer, as soon as nobody waits for its answer."""
        self._consumer = None

    def _held(self, producer: Producer, places: Iterable[Place]) -> dict[Place, OffsetAndMetadata]:
        """Where the group is, and sent as it is; an error where somebody goes on moving it."""
        found = self._committed(places)
        for _ in range(_TRIES):
            held = found
            self._send(producer, held)
            found = self._committed(places)
            if found == held:
                return found
        producer.abort_transaction(self._clients.timeout)
        begins = {place: at.offset for place, at in held.items()}
        moved = moves(begins, {place: at for place, at in found.items() if place in begins})
        raise _moved(self._application, told(begins, moved), is_by_streams=are_by_streams(moved))

    def _send(self, producer: Producer, offsets: Mapping[Place, OffsetAndMetadata]) -> None:
        if not offsets:
            return
        try:
            rows = [(*place, *at) for place, at in offsets.items()]
            send_offsets(producer, self._application, rows, self._clients.timeout)
        except KafkaException as error:
            if error.args[0].code() not in HAS_MEMBERS:
                raise
            # Who has joined waits for the end of the transaction to be told the offsets.
            producer.abort_transaction(self._clients.timeout)
            raise _joined(self._application) from error

    def _committed(self, places: Iterable[Place]) -> dict[Place, OffsetAndMetadata]:
        asked = list(places)
        if not asked:
            return {}
        consumer = self._opened()
        found = self._clients.patiently(
            lambda seconds: committed_of(consumer, asked, seconds),
            lambda seconds: consumer.list_topics(asked[0][0], seconds),
        )
        return {place: OffsetAndMetadata(*at) for place, at in found.items()}

    def _opened(self) -> Consumer:
        # One that lived through an outage may wait for a coordinator that is gone.
        if self._consumer is None or self._outages != self._clients.outages:
            self._outages = self._clients.outages
            settings = {"group.id": self._application, "isolation.level": "read_uncommitted"}
            self._consumer = self._clients.consumer(settings)
        return self._consumer
