"""Counts a whole batch of records at once, where that certainly gives what counting them one by one gives.

With a cached store a count that changes is not sent on at once, so of the records of a key only the last one leaves a
trace: the cache keeps its origin, together with the number of records and the latest of their times. That is so as long
as the cache flushes nothing in between. A batch in which it might, or with a record that is not counted in the plain
way (no key, no value, headers, bytes that cannot be read), is refused and goes record by record.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Any

from headrace.processors.columns import Columns, Tally
from headrace.records import NO_HEADERS, RecordContext
from headrace.serde.primitives import IntegerSerde
from headrace.serde.round_trips import keeps_all, reads_all
from headrace.state.cache import CacheEntry, entry_size
from headrace.state.layers.caching import CachingKeyValueStore
from headrace.state.layers.typed import TypedKeyValueStore
from headrace.state.value_codecs import TIMESTAMPED

_TIMESTAMP_AND_COUNT = Struct(">qq")
_LONG = IntegerSerde("long()", 8)
_MAX_COUNT = 2**63 - 1
_pack, _unpack = _TIMESTAMP_AND_COUNT.pack, _TIMESTAMP_AND_COUNT.unpack


class CountBatches:
    def __init__(self, store: TypedKeyValueStore, key_serde: Any, value_serde: Any) -> None:
        assert isinstance(store.inner, CachingKeyValueStore)
        self._store = store
        self._cached = store.inner
        self._key_serde = key_serde
        self._value_serde = value_serde

    @staticmethod
    def fits(store: Any, key_serde: Any) -> bool:
        """Whether ``store`` can count in batches: cached, of the usual form, with the keys as they are read."""
        return (
            type(store) is TypedKeyValueStore
            and not store.is_measured
            and type(store.inner) is CachingKeyValueStore
            and store.value_codec is TIMESTAMPED
            and store.serdes == (key_serde, _LONG)
        )

    def take(self, columns: Columns) -> bool:
        """Count all of the records; False, and nothing is changed, where they have to go one by one."""
        if not columns.is_plain or not self._reads(columns.topic, columns.each_value):
            return False
        tallies = columns.tallies()
        size = entry_size(_TIMESTAMP_AND_COUNT.size, columns.topic)
        if not keeps_all(self._key_serde, tallies) or not self._cached.has_room(tallies, size):
            return False
        entries = self._entries(columns, tallies, size)
        if entries is None:
            return False
        self._cached.put_last(entries)
        self._store.note(columns.topic, columns.partition, columns.offsets[-1])
        return True

    def _entries(self, columns: Columns, tallies: Mapping[bytes, Tally], size: int) -> dict[bytes, CacheEntry] | None:
        """What the cache holds afterwards, in the order of the last records."""
        topic, partition, offsets, peek = columns.topic, columns.partition, columns.offsets, self._cached.peek
        entries = {}
        for key, (count, latest_ms, last, last_ms, last_value) in tallies.items():
            held = peek(key)
            if held is not None:
                if len(held) != _TIMESTAMP_AND_COUNT.size:
                    return None
                held_ms, held_count = _unpack(held)
                count += held_count
                if held_ms > latest_ms:
                    latest_ms = held_ms
            if count > _MAX_COUNT:
                return None
            context = RecordContext(last_ms, offsets[last], partition, topic, NO_HEADERS, key, last_value)
            entries[key] = CacheEntry(_pack(latest_ms, count), context, True, size)
        return entries

    def _reads(self, topic: str, values: Any) -> bool:
        if reads_all(self._value_serde, values):
            return True
        read = self._value_serde.deserialize
        try:
            return all(read(topic, value) is not None for value in values)
        except Exception:
            # Whatever a serde raises here, it raises again when the record is read alone: the handler is asked then.
            return False
