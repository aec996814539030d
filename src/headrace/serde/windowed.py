"""Serdes of windowed keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Generic

from headrace.errors import ArgumentError, SerializationError
from headrace.partitioning import default_partition
from headrace.serde import bytes_keys
from headrace.serde.contract import Serde, shorten, wrong_type
from headrace.serde.defaults import SerdeSettings, known_inner, resolve_inner
from headrace.type_variables import T
from headrace.windows import MAX_TIMESTAMP, SessionWindow, TimeWindow, Window, Windowed


@dataclass(frozen=True, slots=True)
class InnerKeyPartitioner:
    """Sends a windowed key where its plain key would go, so that both land in the same partition."""

    inner: Serde[Any] | None

    def __call__(self, topic: str, key: Windowed[Any], value: Any, num_partitions: int) -> int:
        return default_partition(_key_bytes(self.inner, topic, key, "windowed()"), num_partitions)

    def with_defaults(self, config: SerdeSettings) -> InnerKeyPartitioner:
        """The same with the default serde, where none was given."""
        return InnerKeyPartitioner(resolve_inner(self.inner, config, is_key=True))


@dataclass(frozen=True, slots=True)
class TimeWindowedSerde(Generic[T]):
    """A key and its time window. The bytes hold the start only; the end is the start plus ``size_ms``.

    With ``is_changelog`` it reads the keys of a window store's changelog. As in Kafka that changes the
    reading side only: what it writes is always the form for topics.
    """

    inner: Serde[T] | None
    size_ms: int
    is_changelog: bool = False

    def __repr__(self) -> str:
        return f"serdes.windowed({self.inner!r}, {self.size_ms}){'.for_changelog()' if self.is_changelog else ''}"

    def serialize(self, topic: str, value: Windowed[T] | None) -> bytes | None:
        if value is None:
            return None
        key = _key_bytes(self.inner, topic, value, "windowed()")
        return bytes_keys.window_topic_key(key, value.window.start)

    def deserialize(self, topic: str, data: bytes | None) -> Windowed[T] | None:
        if not data:
            return None
        inner = known_inner(self.inner, "windowed()")
        key, start = self._parse(data)
        end = min(start + self.size_ms, MAX_TIMESTAMP)
        inner_key: Any = inner.deserialize(topic, key)
        return Windowed(inner_key, _window(TimeWindow, start, end, data))

    def for_changelog(self) -> TimeWindowedSerde[T]:
        """The serde that reads the keys of a window store's changelog topic."""
        return replace(self, is_changelog=True)

    def with_defaults(self, config: SerdeSettings, is_key: bool = True) -> TimeWindowedSerde[T]:
        return replace(self, inner=resolve_inner(self.inner, config, is_key=is_key))

    def inner_key_partitioner(self) -> InnerKeyPartitioner:
        return InnerKeyPartitioner(self.inner)

    def _parse(self, data: bytes) -> tuple[bytes, int]:
        if self.is_changelog:
            _check_length(data, bytes_keys.WINDOW_STORE_SUFFIX_SIZE, "windowed().for_changelog()")
            key, start, _ = bytes_keys.parse_window_store_key(data)
            return key, start
        _check_length(data, bytes_keys.TIMESTAMP_SIZE, "windowed()")
        return bytes_keys.parse_window_topic_key(data)


@dataclass(frozen=True, slots=True)
class SessionWindowedSerde(Generic[T]):
    """A key and its session: key bytes, then the session's end and start."""

    inner: Serde[T] | None

    def __repr__(self) -> str:
        return f"serdes.session_windowed({'' if self.inner is None else repr(self.inner)})"

    def serialize(self, topic: str, value: Windowed[T] | None) -> bytes | None:
        if value is None:
            return None
        key = _key_bytes(self.inner, topic, value, "session_windowed()")
        return bytes_keys.session_key(key, value.window.start, value.window.end)

    def deserialize(self, topic: str, data: bytes | None) -> Windowed[T] | None:
        if not data:
            return None
        inner = known_inner(self.inner, "session_windowed()")
        _check_length(data, bytes_keys.SESSION_SUFFIX_SIZE, "session_windowed()")
        key, start, end = bytes_keys.parse_session_key(data)
        inner_key: Any = inner.deserialize(topic, key)
        return Windowed(inner_key, _window(SessionWindow, start, end, data))

    def with_defaults(self, config: SerdeSettings, is_key: bool = True) -> SessionWindowedSerde[T]:
        return replace(self, inner=resolve_inner(self.inner, config, is_key=is_key))

    def inner_key_partitioner(self) -> InnerKeyPartitioner:
        return InnerKeyPartitioner(self.inner)


def windowed_or_none(serde: Serde[Any] | None) -> Serde[Any] | None:
    """``serde`` where it is one of windowed keys: then no default serde can stand in for it."""
    return serde if isinstance(serde, TimeWindowedSerde | SessionWindowedSerde) else None


def windowed_around(inner: Serde[Any], window: Window) -> TimeWindowedSerde | SessionWindowedSerde:
    """What writes keys with windows like ``window`` whose plain keys ``inner`` writes."""
    if isinstance(window, SessionWindow):
        return SessionWindowedSerde(inner)
    return TimeWindowedSerde(inner, window.end - window.start)


def _key_bytes(inner: Serde[Any] | None, topic: str, value: Windowed[Any], serde: str) -> bytes:
    if not isinstance(value, Windowed):
        raise wrong_type(serde, "Windowed", value)
    key = known_inner(inner, serde).serialize(topic, value.key)
    if key is None:
        message = f"{serde} cannot write {value}: its key is None"
        raise SerializationError(message, hint="Filter out records without a key before they are windowed.")
    return key


def _check_length(data: bytes, suffix_size: int, serde: str) -> None:
    if len(data) < suffix_size:
        message = f"{serde} expected at least {suffix_size} bytes, found {len(data)}"
        raise SerializationError(
            message, detail=f"bytes {shorten(data)}", hint="Was the topic written with another serde?"
        )


def _window(kind: type[Window], start: int, end: int, data: bytes) -> Window:
    try:
        return kind(start, end)
    except ArgumentError as error:
        message = f"the bytes {shorten(data)} hold no window: {error.message}"
        raise SerializationError(message, hint="Was the topic written with another serde?") from error
