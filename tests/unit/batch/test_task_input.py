"""What a task is fed: the order of records depends neither on how they are cut into pieces nor on when a visit ends."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from headrace import StreamsBuilder
from headrace.batch import task_input
from headrace.batch.offsets import ReadRange
from headrace.batch.parcels import Kind, Parcel
from headrace.batch.payloads import Payload
from headrace.batch.spool import Spool
from headrace.batch.task_input import TaskInput, _Range
from headrace.config import StreamsConfig
from headrace.records import NO_HEADERS, RawRecord
from headrace.state.cache import ThreadCache
from headrace.task.stream_task import StreamTask

_TOPICS = ("left", "right")
_NO_TIME = 0.0


class _Log:
    """Gives records in lists of any size."""

    def __init__(self, records: dict[str, list[RawRecord]], chance: random.Random, most: int = 5) -> None:
        self._records, self._chance, self._most = records, chance, most
        self.read_from: list[tuple[str, int]] = []
        """The topics and offsets at which reading began."""

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[list[RawRecord]]:
        self.read_from.append((topic, start))
        left = [record for record in self._records[topic] if start <= record[2] < end]
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


class _Fed:
    """A task with two inputs and one that is idle, and what it wrote."""

    def __init__(self, log: _Log, repartition_topics: tuple[str, ...] = (), idle_ms: int = 0) -> None:
        builder = StreamsBuilder()
        builder.stream("left").merge(builder.stream("right")).merge(builder.stream("idle")).to("out")
        config = StreamsConfig({"application.id": "fed", "max.task.idle.ms": idle_ms})
        port = _Port()
        self.written = port.written
        self.task = StreamTask(
            builder.build().configured(config).task_plan(),
            config,
            port,
            partitions=[(topic, 0) for topic in (*_TOPICS, "idle")],
            cache=ThreadCache(0),
            lag_of=lambda partition: self.input.lag_of(partition),
        )
        self.input = TaskInput(self.task, log, repartition_topics)  # type: ignore[arg-type]
        self.task.initialize()
        self.task.start()

    def visit(
        self,
        starts: dict[str, int],
        ends: dict[str, int],
        lags: dict[str, int],
        seconds: float | None = None,
        sent: dict[str, Spool] | None = None,
    ) -> dict[str, int]:
        """What is to be committed after it."""
        ranges = [ReadRange(each, 0, starts[each], ends[each], ends[each] + lags.get(each, 0)) for each in starts]
        reading, place = SimpleNamespace(ranges=ranges), SimpleNamespace(partition=0)
        request: Any = SimpleNamespace(before=None, reading=reading, records=sent or {}, task=place)
        self.task.go_on()
        self.input.begin(request)
        self.input.feed(0, seconds)
        return {each.topic: self.input.next_offset(each) for each in ranges}


def _records(topic: str, times: list[int], gaps: random.Random | None = None) -> list[RawRecord]:
    offset, found = 0, list[RawRecord]()
    for at in times:
        offset += 1 if gaps is None else gaps.randint(1, 3)
        found.append((topic, 0, offset - 1, at, b"k", f"{topic} {at}".encode(), NO_HEADERS))
    return found


def _ends(records: dict[str, list[RawRecord]]) -> dict[str, int]:
    return {topic: found[-1][2] + 1 if found else 0 for topic, found in records.items()}


def _random_records(chance: random.Random, most: int) -> dict[str, list[RawRecord]]:
    times = chance.sample(range(10 * most), chance.randint(1, most))
    cut = chance.randint(0, len(times))
    return {"left": _records("left", times[:cut], chance), "right": _records("right", times[cut:], chance)}


def _at_once(records: dict[str, list[RawRecord]], log: _Log) -> list[Any]:
    fed = _Fed(log)
    assert fed.visit(dict.fromkeys(_TOPICS, 0), _ends(records), {}) == _ends(records)
    return fed.written


@pytest.mark.parametrize("seed", range(30))
def test_the_order_does_not_depend_on_lists(seed: int) -> None:
    chance = random.Random(seed)
    records = _random_records(chance, 60)
    expected = _at_once(records, _Log(records, chance, 1000))
    assert len(expected) == sum(map(len, records.values()))
    assert _at_once(records, _Log(records, chance)) == expected


@pytest.mark.parametrize("seed", range(30))
def test_the_order_does_not_depend_on_when_a_visit_ends(seed: int) -> None:
    chance = random.Random(seed)
    records = _random_records(chance, 300)
    fed, done, ends = _Fed(_Log(records, chance)), dict.fromkeys(_TOPICS, 0), _ends(records)
    while done != ends:
        before, done = done, fed.visit(done, ends, {}, chance.choice((_NO_TIME, _NO_TIME, None)))
        assert done != before, "each visit gets on"
        # What is to be committed is what was processed.
        processed = {topic: sum(record[2] < done[topic] for record in found) for topic, found in records.items()}
        assert sum(processed.values()) == len(fed.written)
    assert fed.written == _at_once(records, _Log(records, chance, 1000))


def test_what_was_read_ahead_is_not_read_again() -> None:
    records = {"left": _records("left", list(range(100))), "right": []}
    log = _Log(records, random.Random(1), 1000)
    fed = _Fed(log)
    done, read = 0, 0
    while done < 100:
        done = fed.visit({"left": done}, {"left": 100}, {}, _NO_TIME)["left"]
        read += fed.input.count
    assert read == 100 and log.read_from == [("left", 0)]


@pytest.mark.parametrize("start", [0, 5, 20, 40])
def test_what_waits_is_forgotten_where_the_next_range_begins_elsewhere(start: int) -> None:
    records = {"left": _records("left", list(range(50))), "right": []}
    fed = _Fed(_Log(records, random.Random(1), 1000))
    assert fed.visit({"left": 0}, {"left": 50}, {}, _NO_TIME) == {"left": 1}
    fed.written.clear()
    assert fed.visit({"left": start}, {"left": 50}, {}) == {"left": 50}
    assert fed.written == [f"left {at}".encode() for at in range(start, 50)]


def test_what_waits_is_forgotten_where_the_next_range_ends_before_it() -> None:
    records = {"left": _records("left", list(range(50))), "right": []}
    fed = _Fed(_Log(records, random.Random(1), 1000))
    assert fed.visit({"left": 0}, {"left": 50}, {}, _NO_TIME) == {"left": 1}
    assert fed.visit({"left": 1}, {"left": 20}, {"left": 30}) == {"left": 20}
    assert len(fed.written) == 20


def test_a_partition_that_lags_is_waited_for() -> None:
    records = {"left": _records("left", [1, 5]), "right": _records("right", [2, 3, 6, 7])}
    fed = _Fed(_Log(records, random.Random(1), 2))
    assert fed.visit({"left": 0, "right": 0}, {"left": 2, "right": 4}, {"left": 1}) == {"left": 2, "right": 2}
    assert fed.written == [b"left 1", b"right 2", b"right 3", b"left 5"]


@pytest.mark.parametrize("idle_ms", [-1, 0, 1000])
@pytest.mark.parametrize(("planned", "seconds"), [(100, _NO_TIME), (10, None), (10, _NO_TIME)])
def test_what_comes_before_records_that_were_sent_is_read_however_much_it_is(
    planned: int, seconds: float | None, idle_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_input, "_MOST_RECORDS", 7)
    fed = _Fed(_Log({"left": _records("left", list(range(0, 200, 2)))}, random.Random(1)), ("right",), idle_ms)
    with Spool() as spool:
        for sender in range(2):
            payload = Payload(lambda chunk, sender=sender: spool.add(_parcel(sender, chunk)))  # type: ignore[misc]
            payload.add(181 + 2 * sender, b"k", b"sent %d" % sender, NO_HEADERS)
            payload.seal()
        done = fed.visit({"left": 0}, {"left": planned}, {"left": 100 - planned}, seconds, {"right": spool})
    early = [b"left %d" % at for at in range(0, 181, 2)]
    assert fed.written[:94] == [*early, b"sent 0", b"left 182", b"sent 1"] and done["left"] < 100


def _parcel(sender: int, chunk: bytes) -> Parcel:
    return Parcel(
        target=0,
        kind=Kind.RECORDS,
        level=1,
        sent_at=0,
        sender=sender,
        sequence=0,
        topic="right",
        attempt="",
        data=chunk,
    )


def test_a_piece_in_columns_has_no_more_than_a_few_lists_of_which_each_is_limited_in_bytes() -> None:
    log = _Log({"left": _records("left", list(range(100)))}, random.Random(1), most=1)
    piece = _Range(log, ReadRange("left", 0, 0, 100, 100)).take(1000, in_columns=True)  # type: ignore[arg-type]
    assert piece is not None and len(piece) == 8
