"""Keys and values to bytes and back, for one topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.broker.port import NewRecord
from headrace.errors import ArgumentError, OperatorTypeError, SerializationError
from headrace.instants import Instant, to_timestamp
from headrace.records import ConsumedRecord, GivenHeaders, RawRecord, Record, given_headers

if TYPE_CHECKING:
    from headrace.serde import Serde


_EXAMPLE = 'For example produce_all("words", [("a", "x"), ("b", "y")]).'


@dataclass(frozen=True, slots=True)
class Coder:
    topic: str
    key_serde: Serde[Any]
    value_serde: Serde[Any]

    def encode(
        self, key: Any, value: Any, timestamp: Instant | None, headers: GivenHeaders, partition: int | None = None
    ) -> NewRecord:
        if partition is not None and (not isinstance(partition, int) or isinstance(partition, bool)):
            message = f"partition must be a whole number, found {partition!r}"
            raise OperatorTypeError(message, hint="Leave it out, and the key decides.")
        return NewRecord(
            self.topic,
            self.key_serde.serialize(self.topic, key),
            self.value_serde.serialize(self.topic, value),
            None if timestamp is None else to_timestamp(timestamp),
            given_headers(headers),
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
    if not isinstance(records, Iterable) or isinstance(records, str | bytes):
        message = f"a list of records is needed, found {records!r}"
        raise OperatorTypeError(message, hint=_EXAMPLE)
    for record in records:
        if isinstance(record, Record | ConsumedRecord):
            yield coder.encode(record.key, record.value, record.timestamp, record.headers)
        elif isinstance(record, tuple) and len(record) in (2, 3):
            key, value, *timestamp = record
            yield coder.encode(key, value, timestamp[0] if timestamp else None, ())
        else:
            message = f"a record must be (key, value), (key, value, timestamp) or a Record, found {record!r}"
            raise ArgumentError(message, hint=_EXAMPLE)
