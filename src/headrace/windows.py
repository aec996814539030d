"""Windows: spans of time, the rules that say which windows a record falls into, and when results leave.

Pure values. The arithmetic is Kafka Streams': windows are aligned to the epoch and never start before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Generic

import msgspec

from headrace.durations import Duration, not_negative, to_ms
from headrace.errors import ArgumentError
from headrace.guesses import Face
from headrace.instants import Instant, to_timestamp
from headrace.type_variables import K

MAX_TIMESTAMP = 2**63 - 1
_DAY_MS = 86_400_000


class Window(msgspec.Struct, frozen=True, order=True):
    """A span of time from ``start`` to ``end``, in milliseconds since 1970. A negative start is an ArgumentError.

    >>> Window(0, 10) < Window(5, 7)
    True
    """

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start < 0:
            message = f"window start cannot be negative ({self.start})"
            raise ArgumentError(message)
        if self.end < self.start:
            message = f"window end ({self.end}) cannot be before its start ({self.start})"
            raise ArgumentError(message)


class TimeWindow(Window, frozen=True, order=True):
    """A window that holds its start and not its end: ``[start, end)``. An empty one is an ArgumentError.

    >>> TimeWindow(0, 10).overlaps(TimeWindow(10, 20))
    False
    """

    def __post_init__(self) -> None:
        if 0 <= self.start < self.end:
            return
        Window.__post_init__(self)
        message = f"window end must be after its start ({self.start})"
        raise ArgumentError(message)

    def overlaps(self, other: Window) -> bool:
        """Whether some instant lies in both."""
        return self.start < other.end and other.start < self.end


class SessionWindow(Window, frozen=True, order=True):
    """A window that holds both its ends: ``[start, end]``; it may be a single instant.

    >>> SessionWindow(0, 10).overlaps(SessionWindow(10, 10))
    True
    """

    def overlaps(self, other: Window) -> bool:
        """Whether some instant lies in both."""
        return not (other.end < self.start or self.end < other.start)


class UnlimitedWindow(Window, frozen=True, order=True):
    """A window that never ends."""

    def overlaps(self, other: Window) -> bool:
        """Always: both reach to the end of time."""
        return True


class Windowed(msgspec.Struct, Generic[K], frozen=True):
    """A key together with the window it was aggregated in.

    >>> row = Windowed("alice", TimeWindow(0, 10))
    >>> row.key, row.start, row.end, str(row)
    ('alice', 0, 10, '[alice@0/10]')
    """

    key: K
    window: Window

    @property
    def start(self) -> int:
        """Start of the window."""
        return self.window.start

    @property
    def end(self) -> int:
        """End of the window."""
        return self.window.end

    def __str__(self) -> str:
        return f"[{self.key}@{self.window.start}/{self.window.end}]"


def _grace_text(grace_ms: int) -> str:
    return f", grace={grace_ms}" if grace_ms else ""


class TimeWindows(Face):
    """Windows of a fixed size: tumbling, or hopping when ``advance`` is smaller than ``size``.

    A window closes when stream time has passed its end by ``grace``, which is zero unless given; records that come
    later are dropped and counted. Durations are timedeltas or milliseconds; an advance larger than the size is an
    ArgumentError.

    >>> [window.start for window in TimeWindows(10, advance=5, grace=timedelta(seconds=1)).windows_for(12)]
    [5, 10]
    """

    __slots__ = ("advance_ms", "grace_ms", "size_ms")

    def __init__(self, size: Duration, advance: Duration | None = None, grace: Duration | None = None) -> None:
        self.size_ms = to_ms(size, "size")
        if self.size_ms <= 0:
            message = f"window size must be larger than zero ({self.size_ms} ms)"
            raise ArgumentError(message)
        self.advance_ms = self.size_ms if advance is None else to_ms(advance, "advance")
        if not 0 < self.advance_ms <= self.size_ms:
            message = f"advance must lie between 1 ms and the window size, {self.size_ms} ms ({self.advance_ms} ms)"
            raise ArgumentError(message)
        self.grace_ms = 0 if grace is None else not_negative(grace, "grace")

    def __repr__(self) -> str:
        advance = "" if self.advance_ms == self.size_ms else f", advance={self.advance_ms}"
        return f"TimeWindows({self.size_ms}{advance}{_grace_text(self.grace_ms)})"

    def starts_for(self, timestamp: int) -> range:
        """Where the windows that hold ``timestamp`` start, earliest first."""
        first = max(0, timestamp - self.size_ms + self.advance_ms) // self.advance_ms * self.advance_ms
        return range(first, timestamp + 1, self.advance_ms)

    def window_at(self, start: int) -> TimeWindow:
        """The window that starts at ``start``."""
        return TimeWindow(start, start + self.size_ms)

    def windows_for(self, timestamp: int) -> Iterator[TimeWindow]:
        """The windows that hold ``timestamp``, earliest first."""
        return map(self.window_at, self.starts_for(timestamp))


class UnlimitedWindows(Face):
    """One window from ``start`` to the end of time. It never closes; records before ``start`` are in none.

    >>> [window.start for time in (50, 100, 150) for window in UnlimitedWindows(start=100).windows_for(time)]
    [100, 100]
    """

    __slots__ = ("grace_ms", "size_ms", "start_ms")

    def __init__(self, start: Instant = 0) -> None:
        self.start_ms = to_timestamp(start, "start")
        if self.start_ms < 0:
            message = f"start cannot be negative ({start})"
            raise ArgumentError(message)
        self.size_ms = MAX_TIMESTAMP
        self.grace_ms = 0

    def __repr__(self) -> str:
        return f"UnlimitedWindows({f'start={self.start_ms}' if self.start_ms else ''})"

    def starts_for(self, timestamp: int) -> range:
        """Where the one window starts; nothing if ``timestamp`` lies before it."""
        return range(self.start_ms, self.start_ms + (timestamp >= self.start_ms))

    def window_at(self, start: int) -> UnlimitedWindow:
        """The window that starts at ``start``."""
        return UnlimitedWindow(start, MAX_TIMESTAMP)

    def windows_for(self, timestamp: int) -> Iterator[UnlimitedWindow]:
        """The one window, unless ``timestamp`` lies before it."""
        return map(self.window_at, self.starts_for(timestamp))


class SlidingWindows(Face):
    """Windows of records that lie at most ``difference`` apart; the data says where they start.

    Each record ends a window and starts another: there is one for each set of records that fit together.

    >>> builder = StreamsBuilder()
    >>> counts = builder.stream("in").group_by_key().windowed_by(SlidingWindows(10)).count()
    >>> counts.to_stream(lambda window, count: f"{window.start}-{window.end}").to("out")
    >>> run(builder, ("a", "x", 20), ("a", "y", 25))
    [('10-20', 1), ('21-31', 1), ('15-25', 2)]
    """

    __slots__ = ("difference_ms", "grace_ms")

    def __init__(self, difference: Duration, grace: Duration | None = None) -> None:
        self.difference_ms = not_negative(difference, "difference")
        self.grace_ms = 0 if grace is None else not_negative(grace, "grace")

    def __repr__(self) -> str:
        return f"SlidingWindows({self.difference_ms}{_grace_text(self.grace_ms)})"


class SessionWindows(Face):
    """Windows of activity: a session ends when nothing came for ``gap``.

    A record within ``gap`` of two sessions joins them into one. A session closes when stream time has passed its end by
    ``gap`` and ``grace``.

    >>> builder = StreamsBuilder()
    >>> counts = builder.stream("in").group_by_key().windowed_by(SessionWindows(5)).count()
    >>> counts.to_stream(lambda window, count: f"{window.start}-{window.end}").to("out")
    >>> run(builder, ("a", "x", 0), ("a", "y", 5), ("a", "z", 11))
    [('0-0', 1), ('0-0', None), ('0-5', 2), ('11-11', 1)]
    """

    __slots__ = ("gap_ms", "grace_ms")

    def __init__(self, gap: Duration, grace: Duration | None = None) -> None:
        self.gap_ms = not_negative(gap, "gap")
        self.grace_ms = 0 if grace is None else not_negative(grace, "grace")

    def __repr__(self) -> str:
        return f"SessionWindows({self.gap_ms}{_grace_text(self.grace_ms)})"


class JoinWindows(Face):
    """How far apart two records may lie and still join.

    A record of the left stream at ``t`` joins those of the right from ``t - before`` to ``t + after``, both included;
    ``difference`` sets both. One of them may be negative, as long as the span is not.

    In a left or outer join a record without a partner waits until the window and ``grace`` are over. With ``eager`` it
    is sent at once, and again with each partner that comes later; ``grace`` is a day unless it is given, as it was
    before Kafka Streams 3.1.

    >>> JoinWindows(10, after=0).before_ms, JoinWindows(10, after=0).after_ms
    (10, 0)
    """

    __slots__ = ("after_ms", "before_ms", "eager", "grace_ms")

    def __init__(
        self,
        difference: Duration | None = None,
        *,
        before: Duration | None = None,
        after: Duration | None = None,
        grace: Duration | None = None,
        eager: bool = False,
    ) -> None:
        if difference is None and (before is None or after is None):
            raise ArgumentError(
                "a join window needs a difference, or both before and after", hint="JoinWindows(timedelta(minutes=5))"
            )
        base = 0 if difference is None else not_negative(difference, "difference")
        self.before_ms = base if before is None else to_ms(before, "before")
        self.after_ms = base if after is None else to_ms(after, "after")
        self.eager = eager
        self.grace_ms = _DAY_MS * eager if grace is None else not_negative(grace, "grace")
        if self.size_ms < 0:
            message = f"a join window must not end before it starts (before {self.before_ms}, after {self.after_ms})"
            raise ArgumentError(message)

    def __repr__(self) -> str:
        eager = ", eager=True" if self.eager else ""
        return f"JoinWindows(before={self.before_ms}, after={self.after_ms}{_grace_text(self.grace_ms)}{eager})"

    @property
    def size_ms(self) -> int:
        """Length of the span in which records join."""
        return self.before_ms + self.after_ms


class EmitStrategy(Enum):
    """When a windowed aggregation sends its results on; for ``emit_strategy`` of windowed streams.

    >>> EmitStrategy.on_window_close() is EmitStrategy.ON_WINDOW_CLOSE
    True
    """

    ON_WINDOW_UPDATE = "on_window_update"
    ON_WINDOW_CLOSE = "on_window_close"

    @classmethod
    def on_window_update(cls) -> EmitStrategy:
        """With every update (or cache flush): the default."""
        return cls.ON_WINDOW_UPDATE

    @classmethod
    def on_window_close(cls) -> EmitStrategy:
        """Once, when the window has closed."""
        return cls.ON_WINDOW_CLOSE


class BufferFull(Enum):
    """What a suppression buffer does when it is full."""

    EMIT = "emit_early"
    SHUT_DOWN = "shut_down"


@dataclass(frozen=True, slots=True)
class BufferConfig(Face):
    """Limits of a suppression buffer, and what happens when one is reached. Each method gives a new one.

    >>> BufferConfig.max_records(1000).with_max_bytes(1_000_000).shut_down_when_full().records
    1000
    """

    records: int | None = None
    bytes: int | None = None
    when_full: BufferFull = BufferFull.EMIT
    logging: bool | dict[str, str] = True

    @classmethod
    def max_records(cls, limit: int) -> BufferConfig:
        """At most ``limit`` records; then the oldest leave early."""
        return cls(records=limit)

    @classmethod
    def max_bytes(cls, limit: int) -> BufferConfig:
        """At most ``limit`` bytes; then the oldest leave early."""
        return cls(bytes=limit)

    @classmethod
    def unbounded(cls) -> BufferConfig:
        """No limit: the buffer takes the memory it needs."""
        return cls(when_full=BufferFull.SHUT_DOWN)

    def with_max_records(self, limit: int) -> BufferConfig:
        """Also at most ``limit`` records."""
        return replace(self, records=limit)

    def with_max_bytes(self, limit: int) -> BufferConfig:
        """Also at most ``limit`` bytes."""
        return replace(self, bytes=limit)

    def with_no_bound(self) -> BufferConfig:
        """Without limits."""
        return replace(self, records=None, bytes=None, when_full=BufferFull.SHUT_DOWN)

    def emit_early_when_full(self) -> BufferConfig:
        """When full, the oldest results leave before their time."""
        return replace(self, when_full=BufferFull.EMIT)

    def shut_down_when_full(self) -> BufferConfig:
        """When full, the application stops rather than emit early."""
        return replace(self, when_full=BufferFull.SHUT_DOWN)

    def with_logging_enabled(self, topic_config: dict[str, str] | None = None) -> BufferConfig:
        """Keep the buffer in a changelog topic with these settings."""
        return replace(self, logging=dict(topic_config or {}) or True)

    def with_logging_disabled(self) -> BufferConfig:
        """Lose the buffer with the task."""
        return replace(self, logging=False)


@dataclass(frozen=True, slots=True)
class Suppressed(Face):
    """Which intermediate results of a table are held back. Made by the two factories.

    >>> Suppressed.until_time_limit(timedelta(seconds=5), BufferConfig.max_records(100)).time_limit_ms
    5000
    """

    time_limit_ms: int | None
    """None: until the window closes."""
    buffer: BufferConfig
    name: str | None = None

    @classmethod
    def until_window_closes(cls, buffer: BufferConfig | None = None, *, name: str | None = None) -> Suppressed:
        """Only the final result of each window. A buffer that may emit early is an ArgumentError.

        With a bounded buffer the application stops when it is full; the default has no bound.

        >>> Suppressed.until_window_closes(BufferConfig.max_records(1000).shut_down_when_full()).buffer.records
        1000
        """
        buffer = BufferConfig.unbounded() if buffer is None else buffer
        if buffer.when_full is BufferFull.EMIT:
            raise ArgumentError(
                "until_window_closes() cannot use a buffer that emits early",
                hint="Use BufferConfig.unbounded() or .shut_down_when_full().",
            )
        return cls(None, buffer, name)

    @classmethod
    def until_time_limit(cls, limit: Duration, buffer: BufferConfig, *, name: str | None = None) -> Suppressed:
        """At most one result per key in each ``limit`` of stream time; a full buffer lets the oldest go before.

        >>> builder = StreamsBuilder()
        >>> rarely = builder.table("in").suppress(Suppressed.until_time_limit(10, BufferConfig.unbounded()))
        >>> rarely.to_stream().to("out")
        >>> run(builder, ("a", 1, 0), ("a", 2, 5), ("b", 3, 10))
        [('a', 2)]
        """
        return cls(to_ms(limit, "limit"), buffer, name)


WindowsSpec = Any
"""TimeWindows | UnlimitedWindows | SlidingWindows | SessionWindows"""
