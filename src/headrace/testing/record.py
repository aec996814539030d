"""A record as tests write and read it."""

from __future__ import annotations

from typing import Any, Generic

from headrace.errors import ArgumentError, user_line
from headrace.instants import Instant, to_timestamp
from headrace.records import GivenHeaders, given_headers
from headrace.type_variables import K, V

_MILLISECONDS = "Timestamps are milliseconds since 1970; leave it out to use the input topic's clock."


class TestRecord(Generic[K, V]):
    """Key, value, headers and time of a record. Without ``timestamp`` the input topic's clock gives one.

    Two are equal when all four are. A negative timestamp is an ArgumentError.

    >>> TestRecord("a", "x", timestamp=7) == TestRecord("a", "x", timestamp=8)
    False
    """

    __test__ = False  # not a test, whatever pytest thinks of its name
    __slots__ = ("headers", "key", "timestamp", "value")

    def __init__(
        self,
        key: K,
        value: V,
        timestamp: Instant | None = None,
        headers: GivenHeaders | None = None,
    ) -> None:
        timestamp = None if timestamp is None else to_timestamp(timestamp)
        if timestamp is not None and timestamp < 0:
            message = f"the timestamp of a record cannot be negative ({timestamp})"
            raise ArgumentError(message, hint=_MILLISECONDS, at=user_line())
        self.key = key
        self.value = value
        self.timestamp: Any = timestamp  # a record that was read always has one
        self.headers = given_headers(headers)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TestRecord):
            return NotImplemented
        return (self.key, self.value, self.timestamp, self.headers) == (
            other.key,
            other.value,
            other.timestamp,
            other.headers,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"TestRecord(key={self.key!r}, value={self.value!r}, timestamp={self.timestamp}, "
            f"headers={tuple(self.headers)!r})"
        )
