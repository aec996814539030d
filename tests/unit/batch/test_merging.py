"""Merging what several tasks sent: by time, each task's records in order, whatever chunks they come in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate

import pytest

from headrace.batch.merging import merged_by_time
from headrace.processors.columns import Columns, RecordColumns
from headrace.records import RawRecord


def _chunks(sender: bytes, times: list[int], chance: random.Random) -> Iterator[Columns]:
    numbers = [b"%d" % number for number in range(len(times))]
    while times:
        size = chance.randint(1, 5)
        part, times = times[:size], times[size:]
        values, numbers = numbers[:size], numbers[size:]
        yield RecordColumns("t", 0, range(len(part)), part, [sender] * len(part), [*values])


def _merged(senders: list[list[int]], chance: random.Random) -> list[RawRecord]:
    columns = [_chunks(b"%d" % number, times, chance) for number, times in enumerate(senders)]
    return [row for rows in merged_by_time(columns, 3) for row in rows]


@pytest.mark.parametrize("seed", range(30))
def test_stream_time_at_the_reader_is_that_of_no_sender_before_its_turn(seed: int) -> None:
    chance = random.Random(seed)
    senders = [[chance.randint(0, 50) for _ in range(chance.randint(0, 20))] for _ in range(chance.randint(1, 4))]
    rows = _merged(senders, chance)
    assert [row[2] for row in rows] == list(range(3, 3 + sum(map(len, senders))))
    for number, times in enumerate(senders):
        sent = [(row[3], row[5]) for row in rows if row[4] == b"%d" % number]
        assert sent == [(time, b"%d" % at) for at, time in enumerate(times)], "each keeps its order"
    seen = {row[4]: -1 for row in rows}
    own = [seen.update({row[4]: max(seen[row[4]], row[3])}) or seen[row[4]] for row in rows]
    # What is late at the reader was late at its sender: nobody's time is behind that of the whole.
    assert own == list(accumulate(own, max))
