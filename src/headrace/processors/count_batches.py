"""Counts a whole batch of records at once, where that certainly gives what counting them one by one gives.

With a cached store a count that changes is not sent on at once, so of the records of a key only the last one leaves a
trace: the cache keeps its origin, together with the number of records and the latest of their times. That is so as long
as the cache flushes nothing in between. A batch in which it might, or with a record that is not counted in the plain
way (no key, no value, headers, bytes that cannot be read), is refused and goes record by record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from operator import itemgetter
from struct import Struct
from typing import Any

from headrace.processors.columns import RecordColumns
from headrace.records import NO_HEADERS, RecordContext
from headrace.serde.primitives import IntegerSerde
from headrace.serde.round_trips import keeps_all, reads_all
from headrace.state.cache import CacheEntry, entry_size
from headrace.state.layers.key_value_caching import CachingKeyValueStore
from headrace.state.layers.metered import MeteredKeyValueStore
from headrace.state.value_codecs import TIMESTAMPED

_TIMESTAMP_AND_COUNT = Struct(">qq")
_LONG = IntegerSerde("long()", 8)
_MAX_COUNT = 2**63 - 1
_by_index = itemgetter(1)
_pack, _unpack = _TIMESTAMP_AND_COUNT.pack, _TIMESTAMP_AND_COUNT.unpack


class CountBatches:
    """Counts batches of records that come straight from a source with the given serdes."""

    def __init__(self, store: MeteredKeyValueStore, key_serde: Any, value_serde: Any) -> None:
        assert isinstance(store.inner, CachingKeyValueStore)
        self._store = store
        self._cached = store.inner
        self._key_serde = key_serde
        self._value_serde = value_serde

    @staticmethod
    def fits(store: Any, key_serde: Any) -> bool:
        """Whether counts in ``store`` can be counted by batches: cached, of the usual form, under the keys as read."""
        return (
            type(store) is MeteredKeyValueStore
            and not store.is_timed
            and type(store.inner) is CachingKeyValueStore
            and store.value_codec is TIMESTAMPED
            and store.serdes == (key_serde, _LONG)
        )

    def take(self, columns: RecordColumns) -> bool:
        """Count all of the records; False, and nothing is changed, where they have to go one by one."""
        last: Any = dict(zip(columns.keys, range(len(columns)), strict=True))
        if not self._is_plain(columns, last):
            return False
        size = entry_size(_TIMESTAMP_AND_COUNT.size, columns.topic)
        if not keeps_all(self._key_serde, last) or not self._cached.has_room(last, size):
            return False
        entries = self._entries(columns, last, size)
        if entries is None:
            return False
        self._cached.put_last(entries)
        self._store.note(columns.topic, columns.partition, columns.offsets[-1])
        return True

    def _entries(self, columns: RecordColumns, last: Mapping[bytes, int], size: int) -> dict[bytes, CacheEntry] | None:
        """What the cache holds afterwards, in the order of the last records; ``last`` says where they are."""
        topic, partition, offsets, timestamps = columns.topic, columns.partition, columns.offsets, columns.timestamps
        keys, values, peek = columns.keys, columns.values, self._cached.peek
        counts, times = Counter(keys), latest_times(columns, last)
        entries = {}
        for key, at in sorted(last.items(), key=_by_index):
            held, count, latest_ms = peek(key), counts[key], times[key]
            if held is not None:
                if len(held) != _TIMESTAMP_AND_COUNT.size:
                    return None
                held_ms, held_count = _unpack(held)
                count += held_count
                if held_ms > latest_ms:
                    latest_ms = held_ms
            if count > _MAX_COUNT:
                return None
            context = RecordContext(timestamps[at], offsets[at], partition, topic, NO_HEADERS, keys[at], values[at])
            entries[key] = CacheEntry(_pack(latest_ms, count), context, True, size)
        return entries

    def _is_plain(self, columns: RecordColumns, keys: Collection[bytes]) -> bool:
        """Whether nothing about these records is special; ``keys`` has each of their keys once."""
        values: Any = keys if columns.values is columns.keys else columns.values
        if columns.headers is not None or None in keys or None in values or min(columns.timestamps) < 0:
            return False
        return reads_all(self._value_serde, values) or self._reads(columns.topic, values)

    def _reads(self, topic: str, values: Iterable[bytes | None]) -> bool:
        read = self._value_serde.deserialize
        try:
            return all(read(topic, value) is not None for value in values)
        except Exception:
            # Whatever a serde raises: it will do so again when the record is read by itself.
            return False


def latest_times(columns: RecordColumns, last: Mapping[bytes, int]) -> Mapping[bytes, int]:
    """The latest timestamp of each key; ``last`` says where its last record is.

    >>> latest_times(RecordColumns("t", 0, range(3), [5, 2, 3], [b"a", b"b", b"a"], []), {b"a": 2, b"b": 1})
    {b'a': 5, b'b': 2}
    """
    timestamps = columns.timestamps
    if timestamps == sorted(timestamps):
        return {key: timestamps[at] for key, at in last.items()}
    latest = dict.fromkeys(last, -1)
    keys: Any = columns.keys
    for key, timestamp in zip(keys, timestamps, strict=True):
        if timestamp > latest[key]:
            latest[key] = timestamp
    return latest
