"""The nouns that travel through a topology: records, headers, changes and timestamped values.

Everything here is a plain value. Nothing here knows of topologies, stores or brokers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias

import msgspec

from headrace.errors import ArgumentError, StreamsError, user_line
from headrace.instants import Instant, to_timestamp
from headrace.type_variables import K2, V2, KIn, V, VIn

NO_TIMESTAMP = -1
"""The timestamp of something that has none."""


class Headers(tuple[tuple[str, bytes | None], ...]):
    """The headers of a record: ``(name, value)`` pairs in order; a name may occur more than once.

    Headers never change in place, so that records can share them: ``add`` and ``remove`` give new ones.

    >>> headers = Headers([("trace", b"1")]).add("trace", b"2")
    >>> headers.last("trace")
    b'2'
    >>> headers == [("trace", b"1"), ("trace", b"2")]
    True
    """

    __slots__ = ()

    def last(self, name: str) -> bytes | None:
        """The value of the last header called ``name``; None where there is none.

        >>> Headers([("trace", b"1"), ("trace", b"2")]).last("trace")
        b'2'
        """
        for header_name, value in reversed(self):
            if header_name == name:
                return value
        return None

    def all(self, name: str) -> Iterator[bytes | None]:
        """The values of every header called ``name``, in order.

        >>> list(Headers([("trace", b"1"), ("trace", b"2")]).all("trace"))
        [b'1', b'2']
        """
        return (value for header_name, value in self if header_name == name)

    def add(self, name: str, value: bytes | None) -> Headers:
        """These headers and one more at the end.

        >>> Headers().add("trace", b"1")
        (('trace', b'1'),)
        """
        return Headers((*self, (name, value)))

    def remove(self, name: str) -> Headers:
        """These headers without those called ``name``.

        >>> Headers([("trace", b"1"), ("user", b"al")]).remove("trace")
        (('user', b'al'),)
        """
        return Headers(header for header in self if header[0] != name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list):
            other = tuple(other)
        return tuple.__eq__(self, other) if isinstance(other, tuple) else NotImplemented

    __hash__ = tuple.__hash__

    @staticmethod
    def of(headers: Iterable[tuple[str, bytes | None]] | None) -> Headers:
        """``headers`` as ``Headers``; the shared empty ones for None."""
        if headers is None:
            return NO_HEADERS
        return headers if isinstance(headers, Headers) else Headers(map(tuple, headers))  # type: ignore[arg-type]


NO_HEADERS = Headers()

GivenHeaders: TypeAlias = Mapping[str, "bytes | None"] | Iterable[tuple[str, "bytes | None"]]
"""Headers as a caller may write them."""


def given_headers(headers: GivenHeaders | None) -> Headers:
    """``headers`` as ``Headers``, checked: pairs of text and bytes, or a dict of these.

    >>> given_headers({"trace": b"1"})
    (('trace', b'1'),)
    """
    if headers is None or isinstance(headers, Headers):
        return Headers.of(headers)
    given = headers.items() if isinstance(headers, Mapping) else headers
    pairs = list(given) if isinstance(given, Iterable) else None
    if pairs is None or not all(_is_header(each) for each in pairs):
        message = f"headers must be pairs of text and bytes, found {headers!r}"
        raise ArgumentError(message, hint='For example headers=[("trace", b"1")].', at=user_line())
    return Headers.of(pairs)


def _is_header(given: Any) -> bool:
    if not isinstance(given, tuple | list) or len(given) != 2:
        return False
    name, value = given
    return isinstance(name, str) and isinstance(value, bytes | None)


class Record(msgspec.Struct, Generic[KIn, VIn]):
    """One record on its way through a topology. Change it by making another: ``record.with_value(v)``.

    A negative timestamp is a StreamsError.

    >>> Record("alice", 1, timestamp=10).with_value(2)
    Record(key='alice', value=2, timestamp=10, headers=())
    """

    key: KIn
    value: VIn
    timestamp: int
    headers: Headers = NO_HEADERS

    if TYPE_CHECKING:

        def __init__(self, key: KIn, value: VIn, timestamp: int, headers: GivenHeaders | None = None) -> None:
            """Headers may be given as any pairs, or as a dict."""

    def __post_init__(self) -> None:
        try:
            is_negative = self.timestamp < 0
        except TypeError:  # Not a number: a datetime perhaps.
            self.timestamp = to_timestamp(self.timestamp)
            is_negative = self.timestamp < 0
        if is_negative:
            raise _negative_timestamp(self)
        if type(self.headers) is not Headers:
            self.headers = given_headers(self.headers)

    def with_key(self, key: K2) -> Record[K2, VIn]:
        """The same record under another key."""
        return Record(key, self.value, self.timestamp, self.headers)

    def with_value(self, value: V2) -> Record[KIn, V2]:
        """The same record with another value."""
        return Record(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: Instant) -> Record[KIn, VIn]:
        """The same record at another time: a datetime, or milliseconds since 1970."""
        return Record(self.key, self.value, to_timestamp(timestamp), self.headers)

    def with_headers(self, headers: GivenHeaders | None) -> Record[KIn, VIn]:
        """The same record with other headers."""
        return Record(self.key, self.value, self.timestamp, headers)


def _negative_timestamp(record: Record[Any, Any]) -> StreamsError:
    message = f"malformed record: its timestamp is negative ({record.timestamp})"
    return StreamsError(
        message,
        detail=f"key {record.key!r}, value {record.value!r}",
        hint="Timestamps are milliseconds since 1970; give the record one that is 0 or more.",
    )


class FixedKeyRecord(Record[KIn, VIn]):
    """A record whose key must stay as it is: what ``process_values`` hands to its processor.

    >>> FixedKeyRecord("alice", 1, timestamp=10).with_timestamp(20)
    FixedKeyRecord(key='alice', value=1, timestamp=20, headers=())
    """

    def with_key(self, key: K2) -> Record[K2, VIn]:
        """Refused: the key is fixed."""
        raise StreamsError(
            "the key of a fixed-key record cannot be changed",
            hint="Use process() instead of process_values() where the key has to change.",
        )

    def with_value(self, value: V2) -> FixedKeyRecord[KIn, V2]:
        """The same record with another value."""
        return FixedKeyRecord(self.key, value, self.timestamp, self.headers)

    def with_timestamp(self, timestamp: Instant) -> FixedKeyRecord[KIn, VIn]:
        """The same record at another time: a datetime, or milliseconds since 1970."""
        return FixedKeyRecord(self.key, self.value, to_timestamp(timestamp), self.headers)

    def with_headers(self, headers: GivenHeaders | None) -> FixedKeyRecord[KIn, VIn]:
        """The same record with other headers."""
        return FixedKeyRecord(self.key, self.value, self.timestamp, given_headers(headers))


class Change(msgspec.Struct, frozen=True):
    """What flows between tables: the new value of a key and, where someone asked for it, the old one."""

    new: Any
    old: Any
    is_latest: bool = True


class ValueAndTimestamp(msgspec.Struct, Generic[V], frozen=True):
    """A value in a timestamped store. Stores that keep headers fill ``headers``; others leave it empty.

    >>> row = ValueAndTimestamp("x", 10)
    >>> row.value, row.timestamp
    ('x', 10)
    """

    value: V
    timestamp: int
    headers: Headers = NO_HEADERS

    @staticmethod
    def make(value: V2 | None, timestamp: int, headers: Headers = NO_HEADERS) -> ValueAndTimestamp[V2] | None:
        """The pair, or None for the value None: a table has no row without a value."""
        return None if value is None else ValueAndTimestamp(value, timestamp, headers)


class VersionedRecord(NamedTuple):
    """One version of a key in a versioned store; ``valid_to`` is None while it is the latest.

    >>> VersionedRecord("x", timestamp=10, valid_to=20).value
    'x'
    """

    value: Any
    timestamp: int
    valid_to: int | None = None


class RecordMetadata(NamedTuple):
    """Where the record being processed came from.

    >>> str(RecordMetadata("views", partition=3, offset=17))
    'views-3@17'
    """

    topic: str | None
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"


class RecordContext(NamedTuple):
    """Origin, time and headers of the record being processed; what stores and error handlers look at."""

    timestamp: int
    offset: int
    partition: int
    topic: str | None
    headers: Headers = NO_HEADERS
    raw_key: bytes | None = None
    raw_value: bytes | None = None

    @property
    def metadata(self) -> RecordMetadata:
        """Topic, partition and offset."""
        return RecordMetadata(self.topic, self.partition, self.offset)


RawRecord: TypeAlias = tuple[str, int, int, int, "bytes | None", "bytes | None", Headers]
"""``(topic, partition, offset, timestamp, key, value, headers)``: a record as a log holds it and a task is fed it.

A plain tuple: to make and unpack a named one takes 0.15 µs more, a tenth of what a record costs on the way.
"""


def raw_record(
    topic: str,
    partition: int,
    offset: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    headers: Headers = NO_HEADERS,
) -> RawRecord:
    """One record by the names of its parts."""
    return (topic, partition, offset, timestamp, key, value, headers)


@dataclass(frozen=True, slots=True)
class ConsumedRecord:
    """A record as it was read from a topic: what a timestamp extractor sees."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: Any
    value: Any
    headers: Headers = NO_HEADERS


TopicPartition: TypeAlias = tuple[str, int]


class OffsetAndMetadata(NamedTuple):
    """How far a group has read a partition: the next offset to read, and a note."""

    offset: int
    metadata: str = ""


def offsets_by_partition(rows: Iterable[tuple[str, int, int, str]]) -> dict[TopicPartition, OffsetAndMetadata]:
    """How far partitions are read, from rows as they travel: topic, partition, offset, metadata."""
    return {(topic, number): OffsetAndMetadata(offset, metadata) for topic, number, offset, metadata in rows}
