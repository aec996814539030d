"""A cached store without the changes that its cache still holds back: as those who follow its changes know it.

A join of tables computes the change of its result from a change of one side and the row of the other side. It hears of
rows when they are flushed, so that is how the other row has to be read. A later one in the cache will be heard of in
its turn, or never, if it is deleted before. Only where one record has changed both sides their new rows meet at once,
as in Kafka Streams.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Flushed:
    """Reads single rows without what the cache holds back. That counts as their use, like any reading."""

    store: Any
    """The caching layer."""

    def get(self, key: bytes) -> bytes | None:
        return self.store.get_flushed(key)  # type: ignore[no-any-return]

    def fetch(self, key: bytes, time: int) -> bytes | None:
        return self.store.fetch_flushed(key, time)  # type: ignore[no-any-return]

    def fetch_session(self, key: bytes, start: int, end: int) -> bytes | None:
        return self.store.fetch_session_flushed(key, start, end)  # type: ignore[no-any-return]
