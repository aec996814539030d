"""Staged records on their way into a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException

from headrace.broker.kafka.chunks import Chunk, chunks_in, frames_in
from headrace.broker.kafka.metadata import AddedPartitions
from headrace.broker.kafka.staging import Staged
from headrace.broker.kafka.timestamps import written_timestamp
from headrace.errors import BrokerUnreachableError, InternalError

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from headrace.broker.kafka.clients import Clients
    from headrace.broker.kafka.staging_directory import StagingDirectory

_FULL_SECONDS = 0.05


def chunks_of(staged: Staged, directory: StagingDirectory, held: dict[str, list[Chunk]]) -> Iterator[Chunk]:
    """What a stage wrote, wherever it is."""
    if staged.is_sent:
        return
    if staged.inline is not None:
        yield from frames_in(staged.inline)
    elif staged.file is None:
        raise InternalError("a stage handed over neither records nor the name of a file")
    elif staged.is_held:
        yield from held[staged.file]
    else:
        with directory.open(staged.file) as stream:
            yield from chunks_in(stream, directory.path(staged.file))


class Sender:
    """Sends chunks, and hears where those for changelogs ended up."""

    def __init__(self, clients: Clients, producer: Producer, changelogs: str) -> None:
        """``changelogs`` is what the names of changelogs begin with."""
        self._producer = producer
        self._added = AddedPartitions(clients, producer)
        self._changelogs = changelogs
        self.ends: dict[str, dict[int, int]] = {}
        """One past the last record of each changelog partition that was written to, after ``flush``."""

    def send(self, chunks: Iterable[Chunk]) -> None:
        """Hand all records to the producer."""
        for chunk in chunks:
            self._send(chunk)
            self._producer.poll(0)

    def flush(self, seconds: float) -> None:
        """Wait until all are written."""
        left = self._producer.flush(seconds)
        if left:
            message = f"{left} records were not written within {seconds:g} s"
            raise BrokerUnreachableError(message, hint="The broker is slow or gone; it is tried again.")

    def _send(self, chunk: Chunk) -> None:
        topic, partition, count = chunk.topic, chunk.partition, len(chunk.keys)
        is_changelog = topic.startswith(self._changelogs) and topic.endswith("-changelog")
        produce, earliest = self._producer.produce, written_timestamp(0) if 0 in chunk.timestamps else 0
        rows = zip(chunk.timestamps, chunk.keys, chunk.values, chunk.headers or repeat((), count), strict=True)
        for number, (timestamp, key, value, headers) in enumerate(rows, 1):
            pairs = [tuple(pair) for pair in headers] if headers else None
            # The last one tells where it ended up.
            told = self._delivered if is_changelog and number == count else None
            while True:
                try:
                    produce(
                        topic, value, key, partition, on_delivery=told, timestamp=timestamp or earliest, headers=pairs
                    )
                    break
                except BufferError:
                    self._producer.poll(_FULL_SECONDS)
                except KafkaException as error:
                    self._added.learn(topic, partition, error)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            raise KafkaException(error)
        ends = self.ends.setdefault(message.topic(), {})
        ends[message.partition()] = max(message.offset() + 1, ends.get(message.partition(), 0))
