"""A store over all its partitions as Kafka Streams' read-only interfaces show it: one partition after another.

Each call asks for the partitions anew, so that it sees what was committed since the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, overload

from headrace.errors import UnsupportedError, WrongTypeError, user_line
from headrace.guesses import Face
from headrace.instants import Instant, to_timestamp
from headrace.records import VersionedRecord
from headrace.state.contracts import StoreIterator
from headrace.type_variables import KIn, VIn
from headrace.windows import Windowed

if TYPE_CHECKING:
    from headrace.query.layout import StoreLayout

Partitions = Callable[[], Sequence[Any]]
"""Gives the typed stores of all partitions, up to date."""


_SESSION_TIMES = "earliest_end", "latest_start"


class ReadOnlyStore(Face):
    """What all kinds have in common. Whatever writes is an UnsupportedError."""

    def __init__(self, name: str, partitions: Partitions, show: Callable[[Any], Any]) -> None:
        self.name = name
        self._partitions = partitions
        self._show = show

    def put(self, *arguments: Any) -> NoReturn:
        """Refused."""
        message = f"the store {self.name!r} can be read here, not written"
        raise UnsupportedError(message, hint="Only the tasks of the application write its stores.")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    put_if_absent = put_all = delete = remove = put

    def _first(self, method: str, *arguments: Any) -> Any | None:
        """What the first partition that has something has."""
        found = (self._asked(getattr(store, method), arguments) for store in self._partitions())
        held = next((value for value in found if value is not None), None)
        return None if held is None else self._show(held)

    def _each(self, method: str, *arguments: Any) -> StoreIterator[Any, Any]:
        """The entries of one partition after another."""
        entries = self._entries([getattr(store, method) for store in self._partitions()], arguments)
        return StoreIterator(entries, entries.close)

    def _entries(self, scans: list[Any], arguments: tuple[Any, ...]) -> Generator[tuple[Any, Any], None, None]:
        for scan in scans:
            with self._asked(scan, arguments) as found:
                yield from found.mapped(self._show)

    def _asked(self, question: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """The answer of a partition. The serde is that of the store: it is the key that has to fit."""
        try:
            return question(*arguments)
        except WrongTypeError as error:
            message = f"this is no key of the store {self.name!r}: {error.message}"
            hint = "Give a key of the type that the program writes."
            raise WrongTypeError(message, detail=error.detail, hint=hint, at=user_line()) from None


class ReadOnlyKeyValueStore(ReadOnlyStore, Generic[KIn, VIn]):
    """Kafka Streams' ReadOnlyKeyValueStore."""

    def get(self, key: KIn) -> VIn | None:
        """The value of ``key``; None where it has none."""
        return self._first("get", key)

    def range(self, key_from: KIn | None = None, key_to: KIn | None = None) -> StoreIterator[KIn, VIn]:
        """The entries of both ends and between; None leaves an end open. In order of the keys' bytes per partition."""
        return self._each("range", key_from, key_to)

    def reverse_range(self, key_from: KIn | None = None, key_to: KIn | None = None) -> StoreIterator[KIn, VIn]:
        """As ``range``, each partition from its end."""
        return self._each("reverse_range", key_from, key_to)

    def all(self) -> StoreIterator[KIn, VIn]:
        """All entries."""
        return self._each("all")

    def reverse_all(self) -> StoreIterator[KIn, VIn]:
        """All entries, each partition from its end."""
        return self._each("reverse_all")

    def prefix_scan(self, prefix: Any, prefix_serde: Any) -> StoreIterator[KIn, VIn]:
        """The entries whose keys, as bytes, begin with ``prefix`` as ``prefix_serde`` writes it."""
        return self._each("prefix_scan", prefix, prefix_serde)

    def approximate_num_entries(self) -> int:
        """About how many entries there are."""
        return sum(store.approximate_num_entries() for store in self._partitions())


class ReadOnlyVersionedStore(ReadOnlyStore, Generic[KIn, VIn]):
    """The reading part of Kafka Streams' VersionedKeyValueStore."""

    def get(self, key: KIn, as_of: Instant | None = None) -> VersionedRecord | None:
        """The latest version of ``key``, or the one that was valid at ``as_of``."""
        time = None if as_of is None else to_timestamp(as_of, "as_of")
        return self._first("get", key, time)


class ReadOnlyWindowStore(ReadOnlyStore, Generic[KIn, VIn]):
    """Kafka Streams' ReadOnlyWindowStore. Times are those of window starts, both ends included.

    They are datetimes, or milliseconds since 1970.
    """

    @overload
    def fetch(self, key: KIn, time: Instant) -> VIn | None: ...
    @overload
    def fetch(self, key: KIn, time: Instant, time_to: Instant) -> StoreIterator[int, VIn]: ...
    def fetch(self, key: KIn, time: Instant, time_to: Instant | None = None) -> Any:
        """``fetch(key, time)``: the value of that window. ``fetch(key, time_from, time_to)``: see ``fetch_range``."""
        if time_to is None:
            return self._first("fetch", key, to_timestamp(time, "time"))
        return self.fetch_range(key, time, time_to)

    def fetch_range(self, key: KIn, time_from: Instant, time_to: Instant) -> StoreIterator[int, VIn]:
        """``(window start, value)`` of the windows of one key."""
        return self._each("fetch_range", key, *_span(time_from, time_to))

    def backward_fetch(self, key: KIn, time_from: Instant, time_to: Instant) -> StoreIterator[int, VIn]:
        """As ``fetch_range``, latest first."""
        return self._each("backward_fetch_range", key, *_span(time_from, time_to))

    backward_fetch_range = backward_fetch

    def fetch_keys(
        self, key_from: KIn | None, key_to: KIn | None, time_from: Instant, time_to: Instant
    ) -> StoreIterator[Windowed[KIn], VIn]:
        """The windows of a range of keys; None leaves an end open."""
        return self._each("fetch_keys", key_from, key_to, *_span(time_from, time_to))

    def backward_fetch_keys(
        self, key_from: KIn | None, key_to: KIn | None, time_from: Instant, time_to: Instant
    ) -> StoreIterator[Windowed[KIn], VIn]:
        """As ``fetch_keys``, each partition from its end."""
        return self._each("backward_fetch_keys", key_from, key_to, *_span(time_from, time_to))

    def fetch_all(self, time_from: Instant, time_to: Instant) -> StoreIterator[Windowed[KIn], VIn]:
        """The windows of all keys that start in the span."""
        return self._each("fetch_all", *_span(time_from, time_to))

    def backward_fetch_all(self, time_from: Instant, time_to: Instant) -> StoreIterator[Windowed[KIn], VIn]:
        """As ``fetch_all``, each partition from its end."""
        return self._each("backward_fetch_all", *_span(time_from, time_to))

    def all(self) -> StoreIterator[Windowed[KIn], VIn]:
        """All windows of all keys."""
        return self._each("all")

    def backward_all(self) -> StoreIterator[Windowed[KIn], VIn]:
        """All windows, each partition from its end."""
        return self._each("backward_all")


class ReadOnlySessionStore(ReadOnlyStore, Generic[KIn, VIn]):
    """Kafka Streams' ReadOnlySessionStore. Times are datetimes, or milliseconds since 1970."""

    def fetch(self, key: KIn) -> StoreIterator[Windowed[KIn], VIn]:
        """The sessions of one key."""
        return self._each("fetch", key)

    def backward_fetch(self, key: KIn) -> StoreIterator[Windowed[KIn], VIn]:
        """The sessions of one key, from the end."""
        return self._each("backward_fetch", key)

    def fetch_session(self, key: KIn, start: Instant, end: Instant) -> VIn | None:
        """The value of the session of ``key`` from ``start`` to ``end``."""
        return self._first("fetch_session", key, *_span(start, end, "start", "end"))

    def fetch_keys(self, key_from: KIn | None, key_to: KIn | None) -> StoreIterator[Windowed[KIn], VIn]:
        """The sessions of a range of keys; None leaves an end open."""
        return self._each("fetch_keys", key_from, key_to)

    def backward_fetch_keys(self, key_from: KIn | None, key_to: KIn | None) -> StoreIterator[Windowed[KIn], VIn]:
        """As ``fetch_keys``, each partition from its end."""
        return self._each("backward_fetch_keys", key_from, key_to)

    def find_sessions(
        self, key: KIn, earliest_end: Instant, latest_start: Instant
    ) -> StoreIterator[Windowed[KIn], VIn]:
        """The sessions of one key that end no earlier and start no later."""
        return self._each("find_sessions", key, *_span(earliest_end, latest_start, *_SESSION_TIMES))

    def backward_find_sessions(
        self, key: KIn, earliest_end: Instant, latest_start: Instant
    ) -> StoreIterator[Windowed[KIn], VIn]:
        """As ``find_sessions``, from the end."""
        return self._each("backward_find_sessions", key, *_span(earliest_end, latest_start, *_SESSION_TIMES))

    def find_sessions_keys(
        self, key_from: KIn | None, key_to: KIn | None, earliest_end: Instant, latest_start: Instant
    ) -> StoreIterator[Windowed[KIn], VIn]:
        """The sessions of a range of keys that end no earlier and start no later."""
        times = _span(earliest_end, latest_start, *_SESSION_TIMES)
        return self._each("find_sessions_keys", key_from, key_to, *times)

    def backward_find_sessions_keys(
        self, key_from: KIn | None, key_to: KIn | None, earliest_end: Instant, latest_start: Instant
    ) -> StoreIterator[Windowed[KIn], VIn]:
        """As ``find_sessions_keys``, each partition from its end."""
        times = _span(earliest_end, latest_start, *_SESSION_TIMES)
        return self._each("backward_find_sessions_keys", key_from, key_to, *times)


_SHAPES: dict[str, type[ReadOnlyStore]] = {
    "kv": ReadOnlyKeyValueStore,
    "versioned": ReadOnlyVersionedStore,
    "window": ReadOnlyWindowStore,
    "session": ReadOnlySessionStore,
}


def read_only(layout: StoreLayout, partitions: Partitions, *, timestamped: bool) -> Any:
    """The interface that fits the kind of the store."""
    show = _bare if layout.kind.timestamped and not timestamped else _as_is
    return _SHAPES[layout.kind.shape](layout.name, partitions, show)


def _bare(held: Any) -> Any:
    return held.value


def _as_is(held: Any) -> Any:
    return held


def _span(first: Instant, last: Instant, *names: str) -> tuple[int, int]:
    first_name, last_name = names or ("time_from", "time_to")
    return to_timestamp(first, first_name), to_timestamp(last, last_name)
