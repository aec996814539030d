"""Interactive queries: questions to a store, and its answers (KIP-796).

Only a key query looks into the cache; all others are answered by the store beneath it, so that they show
what was flushed. A question of a kind that the store does not know is a failure, not an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headrace.errors import ArgumentError, HeadraceError, OperatorTypeError, UnsupportedError, user_line
from headrace.instants import to_timestamp
from headrace.records import ValueAndTimestamp
from headrace.state.contracts import StoreIterator
from headrace.state.kinds import (
    KEY_VALUE,
    SESSION,
    TIMESTAMPED_KEY_VALUE,
    TIMESTAMPED_WINDOW,
    VERSIONED,
    WINDOW,
    StoreKind,
)
from headrace.state.position import Position, PositionBound
from headrace.state.snapshots import layers
from headrace.state.value_codecs import HEADERS, SESSION_HEADERS
from headrace.windows import MAX_TIMESTAMP

_MIN_TIMESTAMP = -(2**63)


class FailureReason(Enum):
    """Why a query has no result."""

    UNKNOWN_QUERY_TYPE = "UNKNOWN_QUERY_TYPE"
    NOT_ACTIVE = "NOT_ACTIVE"
    NOT_UP_TO_BOUND = "NOT_UP_TO_BOUND"
    NOT_PRESENT = "NOT_PRESENT"
    DOES_NOT_EXIST = "DOES_NOT_EXIST"
    STORE_EXCEPTION = "STORE_EXCEPTION"


class ResultOrder(Enum):
    """In which order an iterator gives its entries; ``ANY`` leaves it to the store."""

    ANY = "any"
    ASCENDING = "ascending"
    DESCENDING = "descending"


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The answer of one store: a result, or the reason why there is none.

    ``position`` says how far the store had come in its input. A result that is an iterator must be closed.

    >>> QueryResult(None, FailureReason.NOT_PRESENT, "not on this instance").is_success
    False
    """

    result: Any = None
    failure_reason: FailureReason | None = None
    failure_message: str | None = None
    position: Position | None = None

    @property
    def is_success(self) -> bool:
        """Whether there is a result (which may be None)."""
        return self.failure_reason is None


def _take_times(query: Any, *names: str) -> None:
    """Turn the times of a question that are datetimes into milliseconds since 1970."""
    for name in names:
        given = getattr(query, name)
        if given is not None:
            object.__setattr__(query, name, to_timestamp(given, name))


@dataclass(frozen=True, slots=True)
class KeyQuery:
    """The value of ``key``; None where it has none. ``skip_cache`` asks for what was flushed.

    >>> KeyQuery("alice")
    KeyQuery(key='alice', skip_cache=False)
    """

    key: Any
    skip_cache: bool = False


@dataclass(frozen=True, slots=True)
class TimestampedKeyQuery:
    """The value of ``key`` with its timestamp. A store without timestamps does not know this query."""

    key: Any
    skip_cache: bool = False


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """The values of the keys from ``lower`` to ``upper``, both included; None is no bound.

    Keys are ordered as their bytes are. The cache is not looked at.

    >>> builder = StreamsBuilder()
    >>> _ = builder.table("in", store=stores.in_memory("rows"))
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.create_input_topic("in").pipe_key_value_list([("a", "1"), ("b", "2"), ("c", "3")])
    ...     list(execute(driver.store("rows"), RangeQuery("b")).result)
    [('b', '2'), ('c', '3')]
    """

    lower: Any = None
    upper: Any = None
    order: ResultOrder = ResultOrder.ANY


@dataclass(frozen=True, slots=True)
class TimestampedRangeQuery:
    """As ``RangeQuery``, with the timestamps of the values."""

    lower: Any = None
    upper: Any = None
    order: ResultOrder = ResultOrder.ANY


@dataclass(frozen=True, slots=True)
class VersionedKeyQuery:
    """The latest version of ``key``, or the one that was valid at ``as_of``. For versioned stores."""

    key: Any
    as_of: int | None = None

    def __post_init__(self) -> None:
        _take_times(self, "as_of")


@dataclass(frozen=True, slots=True)
class MultiVersionedKeyQuery:
    """The versions of ``key`` valid at some time from ``from_time`` to ``to_time``, the latest first unless told."""

    key: Any
    from_time: int | None = None
    to_time: int | None = None
    order: ResultOrder = ResultOrder.ANY

    def __post_init__(self) -> None:
        _take_times(self, "from_time", "to_time")


@dataclass(frozen=True, slots=True)
class WindowKeyQuery:
    """The windows of ``key`` that start from ``time_from`` to ``time_to``. Without both times the query is unknown.

    >>> builder = StreamsBuilder()
    >>> _ = builder.stream("in").group_by_key().windowed_by(TimeWindows(10)).count(stores.IN_MEMORY("counts"))
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.create_input_topic("in").pipe_input("a", "x", timestamp=12)
    ...     [(start, held.value) for start, held in execute(driver.store("counts"), WindowKeyQuery("a", 0, 20)).result]
    [(10, 1)]
    """

    key: Any
    time_from: int | None = None
    time_to: int | None = None

    def __post_init__(self) -> None:
        _take_times(self, "time_from", "time_to")


@dataclass(frozen=True, slots=True)
class WindowRangeQuery:
    """The windows of all keys that start from ``time_from`` to ``time_to``, or the sessions of ``key``."""

    key: Any = None
    time_from: int | None = None
    time_to: int | None = None

    def __post_init__(self) -> None:
        _take_times(self, "time_from", "time_to")


Query = (
    KeyQuery
    | TimestampedKeyQuery
    | RangeQuery
    | TimestampedRangeQuery
    | VersionedKeyQuery
    | MultiVersionedKeyQuery
    | WindowKeyQuery
    | WindowRangeQuery
)


def check_query(store: Any, query: Any) -> None:
    """Refuse a question that is none; the two arguments are easily swapped."""
    if isinstance(query, Query) and isinstance(store, str):
        return
    if isinstance(query, str) and isinstance(store, Query):
        message = "query() takes the name of the store first, then the question"
        raise OperatorTypeError(message, hint=f"query({query!r}, {store!r})", at=user_line())
    message = f"query() takes the name of a store and a question, not {store!r} and {query!r}"
    raise OperatorTypeError(message, hint="For example query('counts', KeyQuery('alice')).", at=user_line())


def execute(store: Any, query: Query, bound: PositionBound | None = None) -> QueryResult:
    """Ask ``store`` (a typed store) the ``query``; ``bound`` says how far it must have come.

    What the store cannot answer is a result with a failure reason. Only a query that no store of its kind answers that
    way (a key query to a versioned store, times in the wrong order) raises.

    >>> builder = StreamsBuilder()
    >>> _ = builder.table("in", store=stores.in_memory("rows"))
    >>> with TopologyTestDriver(builder.build()) as driver:
    ...     driver.create_input_topic("in").pipe_input("a", "x")
    ...     execute(driver.store("rows"), KeyQuery("a")).result
    'x'
    """
    answer = _ANSWERS.get((store.kind.bare, type(query)))
    position = _position(store)
    if answer is None or _keeps_headers_on_disk(store):
        return _unknown(store, query, position)
    if bound is not None and not bound.permits(position, _partition(store)):
        message = f"store {store.name} has come to {position} and not yet to {bound.position}"
        return QueryResult(None, FailureReason.NOT_UP_TO_BOUND, message, position)
    try:
        return QueryResult(answer(store, query), position=position)
    except _NotForThisStoreError:
        return _unknown(store, query, position)
    except (ArgumentError, UnsupportedError):
        raise
    except HeadraceError as error:
        return QueryResult(None, FailureReason.STORE_EXCEPTION, str(error), position)


class _NotForThisStoreError(Exception):
    """The store knows this kind of query, but not in this form."""


def _unknown(store: Any, query: Query, position: Position) -> QueryResult:
    message = f"store {store.name} ({store.kind}) cannot answer {query}"
    return QueryResult(None, FailureReason.UNKNOWN_QUERY_TYPE, message, position)


def _keeps_headers_on_disk(store: Any) -> bool:
    # Such stores answer no query at all yet, as in Kafka Streams 4.3; those that lose the headers do.
    return store.kind.headers and store.persistent and store.inner.codec in (HEADERS, SESSION_HEADERS)


def _position(store: Any) -> Position:
    position = getattr(store, "position", None)
    return Position() if position is None else position.copy()


def _partition(store: Any) -> int:
    return int(str(store.task_id).rpartition("_")[2])


def _key(store: Any, query: KeyQuery | TimestampedKeyQuery) -> Any:
    # The cached values of stores with headers are not looked at, as in Kafka Streams.
    skip_cache = query.skip_cache or store.kind.headers
    return _without_headers((store.uncached() if skip_cache else store).get(query.key))


def _key_plain(store: Any, query: KeyQuery) -> Any:
    found = _key(store, query)
    return None if found is None else found.value


def _range(store: Any, query: RangeQuery | TimestampedRangeQuery) -> StoreIterator[Any, Any]:
    beneath = store.uncached()
    scan = beneath.reverse_range if query.order is ResultOrder.DESCENDING else beneath.range
    return _all_without_headers(store, scan(query.lower, query.upper))


def _range_plain(store: Any, query: RangeQuery) -> StoreIterator[Any, Any]:
    return _range(store, query).mapped(_value)


def _window_key(store: Any, query: WindowKeyQuery) -> StoreIterator[int, Any]:
    if query.time_from is None or query.time_to is None:
        raise _NotForThisStoreError
    return _as_kept(store, store.uncached().fetch_range(query.key, query.time_from, query.time_to))


def _window_range(store: Any, query: WindowRangeQuery) -> StoreIterator[Any, Any]:
    if query.time_from is None or query.time_to is None:
        raise _NotForThisStoreError
    return _as_kept(store, store.uncached().fetch_all(query.time_from, query.time_to))


def _as_kept(store: Any, windows: StoreIterator[Any, Any]) -> StoreIterator[Any, Any]:
    # A window store that keeps no timestamps answers with bare values (a key-value store: with the timestamp -1).
    keeps_times = all(getattr(layer, "keeps_times", True) for layer in layers(store))
    return _all_without_headers(store, windows) if keeps_times else windows.mapped(_value)


def _value(found: ValueAndTimestamp) -> Any:
    return found.value


def _without_headers(found: Any) -> Any:
    if isinstance(found, ValueAndTimestamp) and found.headers:
        return ValueAndTimestamp(found.value, found.timestamp)
    return found


def _all_without_headers(store: Any, entries: StoreIterator[Any, Any]) -> StoreIterator[Any, Any]:
    return entries.mapped(_without_headers) if store.kind.headers else entries


def _session_range(store: Any, query: WindowRangeQuery) -> StoreIterator[Any, Any]:
    if query.key is None:
        raise _NotForThisStoreError
    return store.uncached().fetch(query.key)  # type: ignore[no-any-return]


def _version(store: Any, query: VersionedKeyQuery) -> Any:
    return store.version(query.key, query.as_of)


def _versions(store: Any, query: MultiVersionedKeyQuery) -> StoreIterator[Any, Any]:
    time_from = _MIN_TIMESTAMP if query.from_time is None else query.from_time
    time_to = MAX_TIMESTAMP if query.to_time is None else query.to_time
    if time_from > time_to:
        message = f"from_time ({time_from}) cannot be after to_time ({time_to})"
        raise ArgumentError(message)
    # Any order means from the latest back.
    descending = query.order is not ResultOrder.ASCENDING
    return StoreIterator(store.versions(query.key, time_from, time_to, descending=descending))


def _refuse(store: Any, query: Query) -> Any:
    message = f"versioned stores cannot answer a {type(query).__name__}"
    raise UnsupportedError(message, hint="Ask a VersionedKeyQuery or a MultiVersionedKeyQuery.")


_ANSWERS: dict[tuple[StoreKind, type], Callable[[Any, Any], Any]] = {
    (KEY_VALUE, KeyQuery): _key,
    (KEY_VALUE, RangeQuery): _range,
    (TIMESTAMPED_KEY_VALUE, KeyQuery): _key_plain,
    (TIMESTAMPED_KEY_VALUE, TimestampedKeyQuery): _key,
    (TIMESTAMPED_KEY_VALUE, RangeQuery): _range_plain,
    (TIMESTAMPED_KEY_VALUE, TimestampedRangeQuery): _range,
    (WINDOW, WindowKeyQuery): _window_key,
    (WINDOW, WindowRangeQuery): _window_range,
    (TIMESTAMPED_WINDOW, WindowKeyQuery): _window_key,
    (TIMESTAMPED_WINDOW, WindowRangeQuery): _window_range,
    (SESSION, WindowRangeQuery): _session_range,
    (VERSIONED, VersionedKeyQuery): _version,
    (VERSIONED, MultiVersionedKeyQuery): _versions,
    (VERSIONED, KeyQuery): _refuse,
    (VERSIONED, RangeQuery): _refuse,
}
