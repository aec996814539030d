"""Cuts the input of a case into batches at random, where the order inside a batch can be known.

What is in one batch is read by time where it comes from several topics, and level by level where there are several
sub-topologies. The rules say which records may be in one batch so that one order of them is the right one.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import TypeAlias

from tests.conformance.case_inputs import Advance, Input, Piped

Chunk: TypeAlias = "list[Piped] | Advance"
MayFollow: TypeAlias = Callable[[Sequence[Piped], Piped], bool]


class Cut(Enum):
    """What one batch may hold."""

    WHOLE = "everything"
    ANYTHING = "anything"
    BY_TIME = "anything, but no two records of one time from two topics"
    ONE_TOPIC = "records of one topic"
    ONE_PARTITION = "records of one partition of one topic"
    ONE_RECORD = "one record"


def chunks_of(inputs: Iterable[Input], cut: Cut, partitions: int, rng: random.Random, most_records: int) -> list[Chunk]:
    """The input in batches of up to ``most_records``; moves of the clock stand between them."""
    may_follow = _RULES[cut](partitions)
    chunks: list[Chunk] = []
    room = 0
    for each in inputs:
        last = chunks[-1] if chunks else None
        if isinstance(each, Advance):
            chunks.append(each)
        elif room > 0 and isinstance(last, list) and may_follow(last, each):
            last.append(each)
            room -= 1
        else:
            chunks.append([each])
            room = sys.maxsize if cut is Cut.WHOLE else rng.randrange(most_records)
    return chunks


def reading_order(chunk: Sequence[Piped], partitions: int, first: Iterable[str]) -> list[Piped]:
    """The order in which tasks read a batch: global topics first, then by time, each topic in its own order.

    >>> from headrace.records import NO_HEADERS
    >>> records = [Piped(topic, b"k", None, time, NO_HEADERS) for topic, time in [("a", 5), ("a", 1), ("b", 3)]]
    >>> [(record.topic, record.timestamp) for record in reading_order(records, 1, ())]
    [('b', 3), ('a', 5), ('a', 1)]
    """
    known = frozenset(first)
    order = [record for record in chunk if record.topic in known]
    for partition in range(partitions):
        own = [r for r in chunk if r.topic not in known and r.partition(partitions) == partition]
        order += _merged(own)
    return order


def _merged(records: Sequence[Piped]) -> list[Piped]:
    queues: dict[str, list[Piped]] = {}
    for record in reversed(records):
        queues.setdefault(record.topic, []).append(record)
    order = []
    while queues:
        topic = min(queues, key=lambda name: queues[name][-1].timestamp)
        order.append(queues[topic].pop())
        if not queues[topic]:
            del queues[topic]
    return order


def _no_tie(chunk: Sequence[Piped], record: Piped) -> bool:
    return all(other.topic == record.topic or other.timestamp != record.timestamp for other in chunk)


_RULES: dict[Cut, Callable[[int], MayFollow]] = {
    Cut.WHOLE: lambda partitions: lambda chunk, record: True,
    Cut.ANYTHING: lambda partitions: lambda chunk, record: True,
    Cut.BY_TIME: lambda partitions: _no_tie,
    Cut.ONE_TOPIC: lambda partitions: lambda chunk, record: chunk[-1].topic == record.topic,
    Cut.ONE_PARTITION: lambda partitions: (
        lambda chunk, record: (
            chunk[-1].topic == record.topic and chunk[-1].partition(partitions) == record.partition(partitions)
        )
    ),
    Cut.ONE_RECORD: lambda partitions: lambda chunk, record: False,
}
