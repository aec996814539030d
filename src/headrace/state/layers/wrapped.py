"""What the layers around a store of bytes have in common: they pass on what they do not change."""

from __future__ import annotations

from collections.abc import Iterable
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

    def _pass_on(self, names: Iterable[str]) -> None:
        """Have these methods as the store beneath has them."""
        for name in names:
            if hasattr(self.inner, name):
                setattr(self, name, getattr(self.inner, name))

    def flush_cache(self) -> None:
        self.inner.flush_cache()

    def flush(self) -> None:
        self.inner.flush()

    def close(self) -> None:
        self.inner.close()

    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        self.inner.restore(key, value, timestamp, headers)
