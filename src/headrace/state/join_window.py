"""The window stores of stream-stream joins: their changelog records carry the headers of the joined records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.records import Headers
from headrace.state.builders import HeadersWindowStoreBuilder, TimestampedWindowStoreBuilder, WindowStoreBuilder
from headrace.state.contracts import ChangeLogger
from headrace.state.value_codecs import PLAIN, TIMESTAMPED, ChangeWriter, Current, Dumps, Loads, ValueCodec

if TYPE_CHECKING:
    from headrace.serde import Serde


@dataclass(frozen=True, slots=True)
class HeadersInChangelog:
    """A codec whose changelog records have the headers of the record being processed, which is the one stored."""

    inner: ValueCodec

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        """As the inner codec does."""
        return self.inner.bind(serde, topic)

    def change_writer(self, append: ChangeLogger, current: Current) -> ChangeWriter:
        """What the inner codec writes, with headers."""

        def append_with_headers(key: bytes, value: bytes | None, timestamp: int | None, headers: Headers) -> None:
            append(key, value, timestamp, current.headers)

        return self.inner.change_writer(append_with_headers, current)

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        """As the inner codec does."""
        return self.inner.from_changelog(value, timestamp, headers)


class PlainJoinWindowStoreBuilder(WindowStoreBuilder):
    """Builds join windows of bare values."""

    codec: ValueCodec = HeadersInChangelog(PLAIN)

    def _duplicates_log_config(self) -> Mapping[str, str]:
        return {}


class TimestampedJoinWindowStoreBuilder(TimestampedWindowStoreBuilder):
    """Builds join windows of values with timestamps."""

    codec: ValueCodec = HeadersInChangelog(TIMESTAMPED)


def join_window(
    supplier: Any, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None, *, with_headers: bool = False
) -> WindowStoreBuilder:
    """The builder of one side's store; values have timestamps and headers only where the supplier keeps them."""
    if with_headers or getattr(supplier, "has_headers", False):
        return HeadersWindowStoreBuilder(supplier, key_serde, value_serde)
    if getattr(supplier, "is_timestamped", False):
        return TimestampedJoinWindowStoreBuilder(supplier, key_serde, value_serde)
    return PlainJoinWindowStoreBuilder(supplier, key_serde, value_serde)
