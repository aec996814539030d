"""What a task is fed: the order of records does not depend on how they are cut into chunks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from headrace import StreamsBuilder
from headrace.batch.offsets import OffsetRange
from headrace.batch.visit_input import VisitInput
from headrace.config import StreamsConfig
from headrace.records import NO_HEADERS, RawRecord
from headrace.state.cache import ThreadCache
from headrace.task.stream_task import StreamTask

_TOPICS = ("left", "right")


class _Log:
    """Gives records in chunks of any size."""

    def __init__(self, records: dict[str, list[RawRecord]], chance: random.Random, most: int) -> None:
        self._records, self._chance, self._most = records, chance, most

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[list[RawRecord]]:
        left = self._records[topic]
        while left:
            size = self._chance.randint(1, self._most)
            yield left[:size]
            left = left[size:]


class _Port:
    def __init__(self) -> None:
        self.written: list[bytes | None] = []

    def send(self, topic: str, partition: Any, timestamp: Any, key: Any, value: bytes | None, headers: Any) -> None:
        self.written.append(value)

    def partitions_for(self, topic: str) -> int:
        return 1

    def flush(self) -> None:
        pass


def _records(topic: str, times: list[int]) -> list[RawRecord]:
    return [(topic, 0, n, at, b"k", f"{topic} {at}".encode(), NO_HEADERS) for n, at in enumerate(times)]


def _fed(records: dict[str, list[RawRecord]], chance: random.Random, most: int, lags: dict[str, int]) -> list[Any]:
    builder = StreamsBuilder()
    builder.stream("left").merge(builder.stream("right")).to("out")
    config = StreamsConfig({"application.id": "fed"})
    port = _Port()
    ends = {topic: len(records[topic]) for topic in _TOPICS}
    ranges = [OffsetRange(topic, 0, 0, end, end + lags.get(topic, 0)) for topic, end in ends.items()]
    request: Any = SimpleNamespace(
        before=None,
        reading=SimpleNamespace(ranges=ranges),
        records={},
        task=SimpleNamespace(partition=0),
    )
    log: Any = _Log(records, chance, most)
    visit = VisitInput(request, log)
    task = StreamTask(
        builder.build().configured(config).task_plan(),
        config,
        port,
        partitions=[(topic, 0) for topic in _TOPICS],
        cache=ThreadCache(0),
        lag_of=visit.lag_of,
    )
    task.initialize()
    task.start()
    visit.feed(task, 0)
    task.close()
    return port.written


@pytest.mark.parametrize("seed", range(30))
def test_the_order_does_not_depend_on_chunks(seed: int) -> None:
    chance = random.Random(seed)
    times = chance.sample(range(1000), chance.randint(1, 60))
    cut = chance.randint(0, len(times))
    records = {"left": _records("left", times[:cut]), "right": _records("right", times[cut:])}

    expected = _fed(records, chance, 1000, {})

    assert len(expected) == len(times)
    assert _fed(records, chance, chance.randint(1, 5), {}) == expected


def test_a_partition_that_lags_is_waited_for() -> None:
    records = {"left": _records("left", [1, 5]), "right": _records("right", [2, 3, 6, 7])}

    written = _fed(records, random.Random(1), 2, {"left": 1})

    assert written == [b"left 1", b"right 2", b"right 3", b"left 5"]
