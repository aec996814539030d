"""WINDOW and WITHIN as windows of Kafka Streams, and which of them cannot be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from headrace.errors import ArgumentError
from headrace.sql.errors import SqlError
from headrace.sql.tree.queries import Duration, Window, WindowKind, Within
from headrace.windows import JoinWindows, SessionWindows, TimeWindows

_DAY_MS = 86_400_000


def windows_of(window: Window) -> TimeWindows | SessionWindows:
    """The windows of a clause. As in ksqlDB, without GRACE PERIOD one closes a day after it began."""
    size = window.size.ms
    grace = max(_DAY_MS - size, 0) if window.grace is None else window.grace.ms
    if window.kind is WindowKind.SESSION:
        return SessionWindows(size, grace=grace)
    return TimeWindows(size, None if window.advance is None else window.advance.ms, grace=grace)


def join_windows(before_ms: int, after_ms: int, grace_ms: int | None) -> JoinWindows:
    """How far apart rows are joined."""
    return JoinWindows(before=before_ms, after=after_ms, grace=grace_ms, eager=grace_ms is None)


def check_window(window: Window) -> None:
    """Refuse lengths of time that no window can have."""
    with _length_checked("agg.window", window.size):
        windows_of(replace(window, advance=None, grace=None))
    with _length_checked("agg.window", window.advance or window.size):
        windows_of(replace(window, grace=None))
    with _length_checked("agg.window", window.grace or window.size):
        needed = window.size.ms + windows_of(window).grace_ms
    if window.retention is not None and window.retention.ms < needed:
        message = f"RETENTION is too short: the window and its GRACE PERIOD take {needed} ms"
        shorter = "" if window.grace is not None else ", or a GRACE PERIOD: without one a window closes after a day"
        hint = f"Write RETENTION {needed} MILLISECONDS or more{shorter}."
        raise SqlError("agg.window", message, hint=hint, offset=window.retention.at)


def check_within(within: Within) -> None:
    """Refuse lengths of time that rows cannot be apart."""
    with _length_checked("join.within", within.before):
        join_windows(within.before.ms, within.after.ms, None)
    if within.grace is not None:
        with _length_checked("join.within", within.grace):
            join_windows(within.before.ms, within.after.ms, within.grace.ms)


@contextmanager
def _length_checked(code: str, length: Duration) -> Iterator[None]:
    """What is wrong in the block is that length of time."""
    try:
        yield
    except ArgumentError as error:
        raise SqlError(code, error.message, offset=length.at) from error
