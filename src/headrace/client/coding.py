"""Keys and values to bytes and back, for one topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.broker.port import NewRecord
from headrace.errors import ArgumentError, SerializationError
from headrace.instants import Instant, to_timestamp
from headrace.records import ConsumedRecord, Headers, RawRecord, Record

if TYPE_CHECKING:
    from headrace.serde import Serde

GivenHeaders = Mapping[str, "bytes | None"] | Iterable[tuple[str, "bytes | None"]]


@dataclass(frozen=True, slots=True)
class Coder:
    topic: str
    key_serde: Serde[Any]
    value_serde: Serde[Any]

    def encode(
        self, key: Any, value: Any, timestamp: Instant | None, headers: GivenHeaders, partition: int | None = None
    ) -> NewRecord:
        return NewRecord(
            self.topic,
            self.key_serde.serialize(self.topic, key),
            self.value_serde.serialize(self.topic, value),
            None if timestamp is None else to_timestamp(timestamp),
            Headers.of(headers.items() if isinstance(headers, Mapping) else headers),
            partition,
        )

    def decode(self, record: RawRecord) -> ConsumedRecord:
        """The record as a reader gets it; a SerializationError says which one it could not read."""
        topic, partition, offset, timestamp, key, value, headers = record
        try:
            return ConsumedRecord(
                topic,
                partition,
                offset,
                timestamp,
                self.key_serde.deserialize(topic, key),
                self.value_serde.deserialize(topic, value),
                headers,
            )
        except SerializationError as error:
            error.at = f"record {topic}-{partition}@{offset}"
            raise


def new_records(coder: Coder, records: Iterable[Any]) -> Iterator[NewRecord]:
    """Records of any of the forms that ``produce_all`` takes."""
    for record in records:
        if isinstance(record, Record | ConsumedRecord):
            yield coder.encode(record.key, record.value, record.timestamp, record.headers)
        elif isinstance(record, tuple) and len(record) in (2, 3):
            key, value, *timestamp = record
            yield coder.encode(key, value, timestamp[0] if timestamp else None, ())
        else:
            message = f"a record must be (key, value), (key, value, timestamp) or a Record, found {record!r}"
            raise ArgumentError(message)
