"""Consumer groups: how far each has read. Whoever commits here is no member, so that a group with members refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from headrace.broker import port
from headrace.broker.kafka import metadata, offsets
from headrace.broker.kafka.clients import Clients
from headrace.broker.kafka.exact_offsets import committed_by
from headrace.broker.kafka.failures import DENIED
from headrace.broker.port import OffsetAndMetadata
from headrace.errors import ArgumentError, BrokerError, LeaseHeldError
from headrace.names import check_name

HAS_MEMBERS = frozenset(
    {KafkaError.UNKNOWN_MEMBER_ID, KafkaError.NON_EMPTY_GROUP, KafkaError.GROUP_SUBSCRIBED_TO_TOPIC}
)
"""What is answered to offsets of a group that others read as."""
_WITHOUT_MEMBERS = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)
_NO_GROUP = frozenset({KafkaError.GROUP_ID_NOT_FOUND, KafkaError.INVALID_GROUP_ID})


def commit(clients: Clients, group: str, positions: Mapping[port.TopicPartition, OffsetAndMetadata]) -> None:
    """Note how far a group has read."""
    check_name(group, "group")
    for (topic, partition), (offset, _) in positions.items():
        if offset < 0:
            message = f"group {group} cannot commit the offset {offset} of {topic}-{partition}"
            raise ArgumentError(message)
    if not positions:
        return
    parts = [TopicPartition(*place, offset=at.offset, metadata=at.metadata) for place, at in positions.items()]
    request = [ConsumerGroupTopicPartitions(group, parts)]

    def once(seconds: float) -> None:
        ask = clients.admin().alter_consumer_group_offsets
        found = clients.answer(ask(request, request_timeout=seconds)[group], seconds)
        for part in found.topic_partitions or ():
            if part.error is not None:
                raise KafkaException(part.error)

    try:
        clients.change(f"commit offsets of the group {group}", once)
    except BrokerError as error:
        raise _members(group, error) or error from error.__cause__


def _members(group: str, error: BrokerError) -> BrokerError | None:
    cause = error.__cause__
    if not isinstance(cause, KafkaException) or cause.args[0].code() not in HAS_MEMBERS:
        return None
    message = f"offsets of the group {group} cannot be set: it has members that read"
    return BrokerError(message, hint="Stop whoever reads as that group first.")


def committed(
    clients: Clients, group: str, *, is_definite: bool = False
) -> dict[port.TopicPartition, OffsetAndMetadata]:
    """What a group committed; nothing where it is unknown. See ``asking``."""
    with asking(clients, group, is_definite=is_definite) as ask:
        return ask()


@contextmanager
def asking(
    clients: Clients, group: str, *, is_definite: bool = False
) -> Iterator[Callable[[], dict[port.TopicPartition, OffsetAndMetadata]]]:
    """What can be asked for what a group committed. It looks for the group's coordinator meanwhile, which takes time.

    ``is_definite`` waits for the end of transactions that hold offsets of the group. That of a process that was killed
    ends after ``transaction.timeout.ms``: too long for somebody who only wants to look.

    Asked as that group, of every partition there is: an admin client that asks for all of a group's offsets ends the
    process (librdkafka 2.16) where the group's coordinator changes meanwhile.
    """
    check_name(group, "group")
    isolation = "read_committed" if is_definite else "read_uncommitted"
    consumer = clients.consumer({"group.id": group, "isolation.level": isolation})

    def ask() -> dict[port.TopicPartition, OffsetAndMetadata]:
        places = [(topic, number) for topic, count in metadata.counts(clients).items() for number in range(count)]
        if not places:
            return {}
        found = clients.until_it_can(
            f"ask for the offsets of the group {group}",
            lambda: clients.patiently(lambda seconds: committed_of(consumer, places, seconds)),
        )
        return {place: OffsetAndMetadata(*found[place]) for place in sorted(found)}

    try:
        yield ask
    finally:
        consumer.close()


def committed_of(
    consumer: Consumer, places: list[port.TopicPartition], seconds: float
) -> dict[port.TopicPartition, tuple[int, str]]:
    try:
        return committed_by(consumer, places, seconds)
    except KafkaException:
        # A consumer that may not use its group goes on looking for it, and says so beside the records.
        heard = consumer.poll(0)
        if heard is not None and heard.error() is not None and heard.error().code() in DENIED:
            raise KafkaException(heard.error()) from None
        raise


def names(clients: Clients) -> list[str]:
    """The groups that the cluster knows: a broker that does not tell its own is an error."""

    def once(seconds: float) -> list[str]:
        found = clients.answer(clients.admin().list_consumer_groups(request_timeout=seconds), seconds)
        for error in found.errors:
            raise KafkaException(error)
        return sorted(each.group_id for each in found.valid)

    return clients.look("list the groups", once)


def check_empty(clients: Clients, group: str) -> None:
    """Refuse where somebody reads as that group: Kafka Streams runs the application, or has not left the group yet."""

    def once(seconds: float) -> Any:
        ask = clients.admin().describe_consumer_groups
        try:
            return clients.answer(ask([group], request_timeout=seconds)[group], seconds).state
        except KafkaException as error:
            # A client that asks as Kafka 4.0 is asked hears this; an older one, that the group is dead.
            if error.args[0].code() in _NO_GROUP:
                return ConsumerGroupState.DEAD
            raise

    # Its coordinator is asked for this one, and not every broker for its own: one that cannot be reached is in nobody's
    # way then.
    state = clients.look(f"look for members of the group {group}", once)
    if state not in _WITHOUT_MEMBERS:
        message = f"application {group} is run by somebody else: its consumer group has members"
        detail = f"The group is {state.name.lower().replace('_', ' ')}."
        hint = "Stop every instance of it; Kafka Streams leaves the group then, or when session.timeout.ms has passed."
        raise LeaseHeldError(message, detail=detail, hint=hint)


def lag(clients: Clients, group: str) -> dict[port.TopicPartition, int]:
    """How many offsets the group is behind, per partition of the topics it reads; all of those it has not begun."""
    positions = committed(clients, group)
    there = metadata.counts(clients)
    read = sorted({topic for topic, _ in positions} & there.keys())
    places = [(topic, number) for topic in read for number in range(there[topic])]
    begins, ends = offsets.starts(clients, places), offsets.ends(clients, places)
    reached = {place: max(positions[place].offset if place in positions else 0, begins[place]) for place in places}
    return {place: max(0, ends[place] - reached[place]) for place in places}


def delete(clients: Clients, group: str) -> None:
    """Forget what a group committed."""
    check_name(group, "group")
    try:
        clients.change(
            f"delete the group {group}",
            lambda seconds: clients.answer(
                clients.admin().delete_consumer_groups([group], request_timeout=seconds)[group], seconds
            ),
        )
    except BrokerError as error:
        cause = error.__cause__
        if not isinstance(cause, KafkaException) or cause.args[0].code() not in _NO_GROUP:
            raise
