"""What the layers around a store of bytes have in common: they pass on what they do not change."""

from __future__ import annotations

from typing import Generic, TypeVar

from headrace.records import NO_HEADERS, Headers
from headrace.state.bytes_stores import BytesStore
from headrace.state.contracts import StateStore, StoreContext
from headrace.state.value_codecs import ValueCodec

S = TypeVar("S", bound=BytesStore)


class Wrapped(Generic[S]):
    """A layer around ``inner``."""

    def __init__(self, inner: S) -> None:
        self.inner = inner
        self.name = inner.name
        self.persistent = inner.persistent

    @property
    def is_open(self) -> bool:
        """Whether the store beneath can be used."""
        return self.inner.is_open

    @property
    def codec(self) -> ValueCodec:
        return self.inner.codec

    @codec.setter
    def codec(self, codec: ValueCodec) -> None:
        self.inner.codec = codec

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        """Open the store beneath."""
        self._context = context
        self.inner.init(context, root)

    def flush_cache(self) -> None:
        self.inner.flush_cache()

    def flush(self) -> None:
        self.inner.flush()

    def close(self) -> None:
        """Close the store beneath."""
        self.inner.close()

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        """Restore the store beneath."""
        self.inner.restore(key, value, timestamp, headers)
