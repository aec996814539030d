"""Stores that keep less than the typed store around them gives: bare values, or values without headers.

What is not kept is read as empty headers, and as the timestamp -1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from headrace.state.bytes_stores import Entries
from headrace.state.contracts import StateStore, StoreContext
from headrace.state.layers.wrapped import S, Wrapped
from headrace.state.value_codecs import (
    HEADERS,
    NO_HEADERS_BYTES,
    NO_TIMESTAMP_BYTES,
    PLAIN,
    SESSION_HEADERS,
    TIMESTAMP_SIZE,
    TIMESTAMPED,
    split_headers,
)

Convert = Callable[[bytes], bytes]

_GIVE_A_VALUE = ("get", "delete")
_GIVE_ENTRIES = ("range", "prefix_scan", "fetch", "fetch_keys", "fetch_all")
_AS_THEY_ARE = ("approximate_num_entries", "remove")


class Adapter(Wrapped[S]):
    """A store of any shape: on write it strips what the store cannot hold; on read it fills in a default for it."""

    def __init__(self, inner: S, take_off: Convert, put_on: Convert, *, keeps_times: bool = True) -> None:
        super().__init__(inner)
        self._take_off = take_off
        self._put_on = put_on
        self.keeps_times = keeps_times
        """Whether the store beneath has the timestamps of values that have any."""

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        super().init(context, root)
        self._bind(_GIVE_A_VALUE, self._out)
        self._bind(_GIVE_ENTRIES, self._all_out)
        self._pass_on(_AS_THEY_ARE)

    def put(self, key: bytes, value: bytes | None) -> None:
        self.inner.put(key, self._in(value))

    def put_if_absent(self, key: bytes, value: bytes | None) -> bytes | None:
        return self._out(self.inner.put_if_absent(key, self._in(value)))  # type: ignore[attr-defined]

    def put_all(self, entries: Iterable[tuple[bytes, bytes | None]]) -> None:
        self.inner.put_all([(key, self._in(value)) for key, value in entries])  # type: ignore[attr-defined]

    def _bind(self, names: Iterable[str], convert: Callable[[Any], Any]) -> None:
        """Give what methods of the store beneath give, converted."""
        for name in names:
            if hasattr(self.inner, name):
                setattr(self, name, _converted(getattr(self.inner, name), convert))

    def _in(self, value: bytes | None) -> bytes | None:
        return None if value is None else self._take_off(value)

    def _out(self, value: bytes | None) -> bytes | None:
        return None if value is None else self._put_on(value)

    def _all_out(self, entries: Entries) -> Entries:
        return entries.mapped(self._put_on)


def _converted(method: Callable[..., Any], convert: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *arguments, **options: convert(method(*arguments, **options))


def for_timestamps(store: S, *, is_timestamped: bool) -> Any:
    """``store`` as one that takes values with timestamps; stores in memory keep any bytes."""
    if is_timestamped or not store.persistent:
        store.codec = TIMESTAMPED
        return store
    return Adapter(
        store, lambda value: value[TIMESTAMP_SIZE:], lambda value: NO_TIMESTAMP_BYTES + value, keeps_times=False
    )


def for_headers(store: S, *, has_headers: bool, is_timestamped: bool) -> Any:
    """``store`` as one that takes values with timestamps and headers."""
    if has_headers or not store.persistent:
        store.codec = HEADERS
        return store
    if is_timestamped:
        store.codec = TIMESTAMPED
        return Adapter(store, _without_headers, _with_no_headers)
    store.codec = PLAIN
    return Adapter(
        store,
        lambda value: _without_headers(value)[TIMESTAMP_SIZE:],
        lambda value: _with_no_headers(NO_TIMESTAMP_BYTES + value),
    )


def session_for_headers(store: S, *, has_headers: bool) -> Any:
    """``store`` as one that takes aggregates with headers."""
    if has_headers or not store.persistent:
        store.codec = SESSION_HEADERS
        return store
    return Adapter(store, _without_headers, _with_no_headers)


def _without_headers(value: bytes) -> bytes:
    return split_headers(value)[1]


def _with_no_headers(value: bytes) -> bytes:
    return NO_HEADERS_BYTES + value
