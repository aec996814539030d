"""The layers of versioned stores: their changelog and their typed face. Versioned stores are never cached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.records import NO_HEADERS, VersionedRecord
from headrace.state.contracts import StoreIterator
from headrace.state.layers.logging import ChangeLogging
from headrace.state.layers.typed import TypedStore
from headrace.state.position import Position
from headrace.state.snapshots import layers


class ChangeLoggingVersionedStore(ChangeLogging[Any]):
    """Logs the changes of a versioned store.

    Refused puts are logged all the same, as in Kafka Streams: a restored store refuses them again.
    """

    def put(self, key: bytes, value: bytes | None, timestamp: int) -> int:  # type: ignore[override]
        valid_to: int = self.inner.put(key, value, timestamp)
        self._append(key, value, timestamp, NO_HEADERS)
        return valid_to

    def delete(self, key: bytes, timestamp: int) -> VersionedRecord | None:
        existing: VersionedRecord | None = self.inner.delete(key, timestamp)
        self._append(key, None, timestamp, NO_HEADERS)
        return existing


class TypedVersionedStore(TypedStore[Any]):
    """A versioned key-value store of typed keys and values."""

    is_versioned = True
    measured = (("put", "put"), ("get", "get"), ("delete", "delete"))

    @property
    def position(self) -> Position:
        """How far the store has come; it knows which writes it refused."""
        *_, store = layers(self)
        return store.position  # type: ignore[no-any-return]

    def put(self, key: Any, value: Any | None, timestamp: int) -> int:
        """Store a version; returns until when it is valid, IS_LATEST, or NOT_PUT when it came too late."""
        valid_to: int = self.inner.put(self._raw_bound(key), self._raw_value(value), timestamp)
        return valid_to

    def delete(self, key: Any, timestamp: int) -> VersionedRecord | None:
        """Store a tombstone; returns the version that was valid at ``timestamp``."""
        return self._without_end(self.inner.delete(self._raw_bound(key), timestamp))

    def get(self, key: Any, as_of: int | None = None) -> VersionedRecord | None:
        """The latest version, or the one valid at ``as_of``."""
        return self._without_end(self.inner.get(self._raw_bound(key), as_of))

    def all(self) -> StoreIterator[Any, VersionedRecord]:
        """The latest version of every key: for tables of the store; Kafka Streams has no such question."""
        return self._typed_entries(self.inner.all())

    def versions(self, key: Any, time_from: int, time_to: int, *, descending: bool) -> Iterator[VersionedRecord]:
        """The versions valid in the span, for interactive queries."""
        found = self.inner.versions(self._raw_bound(key), time_from, time_to, descending=descending)
        return map(self._typed_value, found)

    def version(self, key: Any, as_of: int | None) -> VersionedRecord | None:
        """As ``get``, but with the end of the version's validity, for interactive queries."""
        found: VersionedRecord | None = self._typed_value(self.inner.get(self._raw_bound(key), as_of))
        return found

    def _typed_value(self, data: Any) -> Any:
        return None if data is None else data._replace(value=self._loads(data.value))

    def _without_end(self, record: VersionedRecord | None) -> VersionedRecord | None:
        # The end of the validity does not survive Kafka Streams' typed layer; only queries show it.
        return None if record is None else self._typed_value(record)._replace(valid_to=None)

    def _entry_key(self, data: bytes) -> Any:
        return self._typed_key(data)
