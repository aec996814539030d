"""A record as tests write and read it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.errors import ArgumentError
from headrace.records import Headers


class TestRecord:
    """Key, value, headers and time of a record. Without ``timestamp`` the input topic's clock gives one."""

    __test__ = False  # not a test, whatever pytest thinks of its name
    __slots__ = ("headers", "key", "timestamp", "value")

    def __init__(
        self,
        key: Any,
        value: Any,
        timestamp: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] | None = None,
    ) -> None:
        if timestamp is not None and timestamp < 0:
            message = f"the timestamp of a record cannot be negative ({timestamp})"
            raise ArgumentError(message)
        self.key = key
        self.value = value
        self.timestamp = timestamp
        self.headers = Headers.of(headers)

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
