"""What a caller may ask for: which partitions of a topic, from where on; and what is said where that is not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from headrace.broker.positions import TopicPosition, resolve
from headrace.errors import ArgumentError, OperatorTypeError, UnknownTopicError
from headrace.instants import to_timestamp
from headrace.near_names import did_you_mean

if TYPE_CHECKING:
    from headrace.broker.port import Broker, TopicPartition

From: TypeAlias = "str | int | datetime | Mapping[int, int]"
"""Where reading begins: ``"earliest"``, ``"latest"``, an offset, ``-n``, a time, or offsets by partition."""


def unknown_topic(topic: str | None, address: str, there: Iterable[str]) -> UnknownTopicError:
    """The error for a topic that is not there, with the next move."""
    names = sorted(there)
    message = f"there are no topics at {address}" if topic is None else f"there is no topic {topic!r}"
    elsewhere = "headrace.topics(ADDRESS), as --broker ADDRESS on the command line"
    if not names:
        detail = f"{address} has no topics."
        hint = f"Are the topics elsewhere? Say where: {elsewhere}. Or create one first: topics.create(NAME)."
        return UnknownTopicError(message, detail=detail, hint=hint)
    hint = did_you_mean(topic, names) or f"topics.names() gives those there are, topics.create({topic!r}) makes it."
    return UnknownTopicError(message, detail=f"The topics at {address} are {', '.join(names[:10])}.", hint=hint)


def partitions_of(broker: Broker, topic: str, wanted: Iterable[int] | None) -> list[TopicPartition]:
    """The partitions to read; all of them unless some are chosen."""
    count = broker.topics()[topic]
    if wanted is not None and (not isinstance(wanted, Iterable) or isinstance(wanted, str)):
        message = f"partitions must be a list of numbers, found {wanted!r}"
        raise OperatorTypeError(message, hint="For example partitions=[0, 1].")
    chosen = range(count) if wanted is None else list(dict.fromkeys(wanted))
    missing = [number for number in chosen if number not in range(count)]
    if missing:
        message = f"topic {topic} has no partition {missing[0]}"
        raise ArgumentError(message, detail=f"Its partitions are 0 to {count - 1}.")
    return [(topic, number) for number in chosen]


def starts_of(broker: Broker, partitions: list[TopicPartition], from_: From) -> dict[TopicPartition, int]:
    """The first offset to read of each partition; never before its start nor after its end."""
    if isinstance(from_, Mapping):
        return _given_starts(broker, partitions, from_)
    return resolve(broker, _position(from_), partitions)


def _position(from_: str | int | datetime) -> TopicPosition:
    if isinstance(from_, datetime):
        return TopicPosition("time", to_timestamp(from_, "from_"))
    if isinstance(from_, int) and not isinstance(from_, bool):
        return TopicPosition("offset", from_) if from_ >= 0 else TopicPosition("last", -from_)
    if from_ in {"earliest", "latest"}:
        return TopicPosition("beginning" if from_ == "earliest" else "end")
    message = f"from_ cannot be {from_!r}"
    hint = (
        "Say 'earliest', 'latest', an offset, -n for the last n of each partition, a datetime, or {partition: offset}."
    )
    raise ArgumentError(message, hint=hint)


def _given_starts(
    broker: Broker, partitions: list[TopicPartition], given: Mapping[int, int]
) -> dict[TopicPartition, int]:
    """The offsets given; partitions that are not named are left out."""
    known = {one[1]: one for one in partitions}
    missing = sorted(given.keys() - known.keys())
    if missing:
        message = f"from_ names the partition {missing[0]}, which is not read"
        raise ArgumentError(message, detail=f"The partitions are {', '.join(map(str, known))}.")
    found: dict[TopicPartition, int] = {}
    for number, offset in given.items():
        found |= resolve(broker, _position(offset), [known[number]])
    return found


def check_limit(limit: int | None) -> int | None:
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        message = f"limit must be a whole number, 0 or more, found {limit!r}"
        raise ArgumentError(message)
    return limit
