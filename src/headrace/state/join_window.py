"""The window stores of stream-stream joins: their changelog records carry the headers of the joined records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.records import Headers
from headrace.state.builders import TypedStoreBuilder
from headrace.state.contracts import ChangeLogger
from headrace.state.kinds import TIMESTAMPED_WINDOW, WINDOW
from headrace.state.value_codecs import PLAIN, TIMESTAMPED, ChangeWriter, Current, Dumps, Loads, ValueCodec

if TYPE_CHECKING:
    from headrace.serde import Serde


@dataclass(frozen=True, slots=True)
class HeadersInChangelog:
    """A codec whose changelog records have the headers of the record being processed, which is the one stored."""

    inner: ValueCodec

    def bind(self, serde: Serde[Any], topic: str) -> tuple[Dumps, Loads]:
        return self.inner.bind(serde, topic)

    def change_writer(self, append: ChangeLogger, current: Current) -> ChangeWriter:
        """What the inner codec writes, with headers."""

        def append_with_headers(key: bytes, value: bytes | None, timestamp: int | None, headers: Headers) -> None:
            append(key, value, timestamp, current.headers)

        return self.inner.change_writer(append_with_headers, current)

    def from_changelog(self, value: bytes | None, timestamp: int, headers: Headers) -> bytes | None:
        return self.inner.from_changelog(value, timestamp, headers)


def join_window(
    supplier: Any, key_serde: Serde[Any] | None, value_serde: Serde[Any] | None, *, with_headers: bool = False
) -> TypedStoreBuilder:
    """The builder of one side's store; values have timestamps and headers only where the supplier keeps them."""
    if with_headers or getattr(supplier, "has_headers", False):
        return TypedStoreBuilder(replace(TIMESTAMPED_WINDOW, headers=True), supplier, key_serde, value_serde)
    if getattr(supplier, "is_timestamped", False):
        codec = HeadersInChangelog(TIMESTAMPED)
        return TypedStoreBuilder(TIMESTAMPED_WINDOW, supplier, key_serde, value_serde, codec=codec)
    return TypedStoreBuilder(WINDOW, supplier, key_serde, value_serde, codec=HeadersInChangelog(PLAIN))
