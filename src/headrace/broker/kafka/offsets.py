"""Where partitions begin and end. Over several partitions an answer is no snapshot: each has its leader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import OFFSET_INVALID, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from headrace.broker import port
from headrace.broker.kafka import metadata
from headrace.broker.kafka.client_settings import given
from headrace.broker.kafka.clients import Clients

_NO_LEADER = frozenset({KafkaError._NOENT, KafkaError._UNKNOWN_PARTITION})
"""That is said of a partition that is not there, and of one that has no leader just now."""


def starts(clients: Clients, places: Iterable[port.TopicPartition]) -> dict[port.TopicPartition, int]:
    """The first offset of each partition."""
    return _ask(clients, dict.fromkeys(places, OffsetSpec.earliest()), IsolationLevel.READ_UNCOMMITTED)


def ends(clients: Clients, places: Iterable[port.TopicPartition]) -> dict[port.TopicPartition, int]:
    """One past the last record that can be read: the last stable offset, or the high watermark where it is allowed."""
    return _ask(clients, dict.fromkeys(places, OffsetSpec.latest()), _isolation(clients))


def stable_ends(clients: Clients, places: Iterable[port.TopicPartition]) -> dict[port.TopicPartition, int]:
    """The last stable offset of each partition, whatever readers are allowed."""
    return _ask(clients, dict.fromkeys(places, OffsetSpec.latest()), IsolationLevel.READ_COMMITTED)


def next_offsets(clients: Clients, places: Iterable[port.TopicPartition]) -> dict[port.TopicPartition, int]:
    """The offset that the next record of each partition gets: the high watermark."""
    return _ask(clients, dict.fromkeys(places, OffsetSpec.latest()), IsolationLevel.READ_UNCOMMITTED)


def for_times(clients: Clients, times: Mapping[port.TopicPartition, int]) -> dict[port.TopicPartition, int | None]:
    """The first offset at or after a time; None where there is none."""
    specs = {place: OffsetSpec.for_timestamp(max(0, at)) for place, at in times.items()}
    found = _ask(clients, specs, _isolation(clients))
    return {place: None if offset < 0 else offset for place, offset in found.items()}


def _isolation(clients: Clients) -> IsolationLevel:
    level = str(given(clients.config, "isolation.level", "consumer.", "main.consumer.") or "read_committed").lower()
    return IsolationLevel.READ_UNCOMMITTED if level == "read_uncommitted" else IsolationLevel.READ_COMMITTED


def _ask(
    clients: Clients, specs: Mapping[port.TopicPartition, Any], isolation: IsolationLevel
) -> dict[port.TopicPartition, int]:
    for topic, number in specs:
        if number < 0:
            metadata.check(clients, topic, number)
    found: dict[port.TopicPartition, int] = {}

    def ask(seconds: float) -> None:
        left = {TopicPartition(*place): spec for place, spec in specs.items() if place not in found}
        if left:
            futures = clients.admin().list_offsets(left, isolation_level=isolation, request_timeout=seconds)
            for each, future in futures.items():
                place = each.topic, each.partition
                found[place] = _offset(clients, place, future, seconds)

    def once() -> None:
        try:
            clients.patiently(ask, clients.learn_leaders)
        except KafkaException as error:
            place = next(each for each in specs if each not in found)
            raise clients.failure(error, "ask for offsets of {}-{}".format(*place)) from error

    clients.until_it_can("ask for offsets", once)
    return found


def _offset(clients: Clients, place: port.TopicPartition, future: Future[Any], seconds: float) -> int:
    try:
        offset = int(clients.answer(future, seconds).offset)
    except KafkaException as error:
        if error.args[0].code() not in _NO_LEADER:
            raise
        metadata.check(clients, *place)
        raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE)) from error
    if offset == OFFSET_INVALID:
        # Where a leader says nothing in time, librdkafka (2.16) gives no error, and an offset that is none.
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    return offset
