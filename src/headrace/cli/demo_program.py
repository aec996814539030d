"""The program of ``headrace demo``: word count, and the sentences that flow into it."""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter

from headrace import serde
from headrace.broker.port import Broker, NewRecord
from headrace.dsl.builder import StreamsBuilder
from headrace.topology import Topology
from headrace.waiting import join

INPUT, OUTPUT, STORE = "text-input", "word-count-output", "word-counts"
PARTITIONS = 2
SENTENCES = (
    "all streams lead to kafka",
    "a table is a stream of changes and a stream is a table of events",
    "the water of the river turns the wheel of the mill",
    "the headrace leads the water to the wheel",
    "no stream flows back to the spring but a topic can be read again",
    "count the words while the water flows",
    "the state of a stream is kept in a store and the store in a log",
    "late is the drop that comes after the window has closed",
)
_PAUSE_SECONDS = 0.1
_END_SECONDS = 60.0


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream(INPUT)
        .flat_map_values(words_of)
        .group_by(lambda key, word: word)
        .count(STORE)
        .to_stream()
        .to(OUTPUT, value_serde=serde.long())
    )
    return builder.build()


def words_of(sentence: str) -> list[str]:
    """The words of a sentence.

    >>> words_of("The water, the mill")
    ['the', 'water', 'the', 'mill']
    """
    return re.findall(r"\w+", sentence.lower())


class Sentences:
    """Appends sentences to the input, more and more of them, in a thread. Knows what it has appended."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._random = random.Random(1)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.appended = 0
        self.words: Counter[str] = Counter()
        self.latest = ""

    def start(self) -> None:
        self._stopping.clear()
        self._thread = threading.Thread(target=self._flow, name="headrace-demo-sentences", daemon=True)
        self._thread.start()

    def append(self, count: int) -> None:
        """Some sentences at once."""
        chosen = self._random.choices(SENTENCES, k=count)
        self._broker.append([NewRecord(INPUT, None, one.encode()) for one in chosen])
        self.latest = chosen[-1]
        self.appended += count
        for one in chosen:
            self.words.update(words_of(one))

    def stop(self) -> None:
        """No more, until ``start`` is called again."""
        self._stopping.set()
        if self._thread is not None:
            join(self._thread, _END_SECONDS)

    def _flow(self) -> None:
        started = time.monotonic()
        while not self._stopping.wait(_PAUSE_SECONDS):
            self.append(1 + int((time.monotonic() - started) ** 2))
