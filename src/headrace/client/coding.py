"""Keys and values to bytes and back, for one topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.broker.port import NewRecord
from headrace.errors import ArgumentError, OperatorTypeError, SerializationError, WrongTypeError, user_line
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
            self._written("key", self.key_serde, key),
            self._written("value", self.value_serde, value),
            None if timestamp is None else to_timestamp(timestamp),
            given_headers(headers),
            partition,
        )

    def decode(self, record: RawRecord) -> ConsumedRecord:
        """The record as a reader gets it; a SerializationError says which one it could not read."""
        topic, partition, offset, timestamp, key, value, headers = record
        part = "key"
        try:
            read_key = self.key_serde.deserialize(topic, key)
            part = "value"
            read_value = self.value_serde.deserialize(topic, value)
        except SerializationError as error:
            error.hint = f"Give {part}_serde= the serde that wrote it, as an object or by its name."
            error.at = f"the {part} of the record {topic}-{partition}@{offset}"
            raise
        return ConsumedRecord(topic, partition, offset, timestamp, read_key, read_value, headers)

    def _written(self, part: str, serde: Serde[Any], given: Any) -> bytes | None:
        try:
            return serde.serialize(self.topic, given)
        except WrongTypeError as error:
            error.hint = (
                f"Give {part}_serde= the serde that writes {type(given).__name__}, as an object or by its name."
            )
            error.at = f"the {part} of a record for the topic {self.topic}, {user_line()}"
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
