"""What windows and joins should give, computed from all records at once in plain Python, without a line of ours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

Table = dict[str, str]
"""Rows by key; the key of a windowed row is ``[key@start/end]``. A row holds the values it was made of, in order."""


class Event(NamedTuple):
    """A record of a stream."""

    key: str
    value: str
    time: int


def time_windows(events: Iterable[Event], size: int, advance: int, grace: int) -> Table:
    table: Table = {}
    now = -1
    for event in events:
        now = max(now, event.time)
        earliest = max(0, event.time - size) // advance * advance
        for start in range(earliest, event.time + 1, advance):
            if start <= event.time < start + size and start + size > now - grace:
                _append(table, event, start, start + size)
    return table


def unlimited_windows(events: Iterable[Event], start: int, end: int) -> Table:
    table: Table = {}
    for event in events:
        if event.time >= start:
            _append(table, event, start, end)
    return table


def sliding_windows(events: list[Event], difference: int) -> Table:
    """Nothing comes late: every record ends a window and, if others follow closely, one begins after it."""
    table: Table = {}
    for event in events:
        for start in (max(0, event.time - difference), event.time + 1):
            end = start + difference
            held = [other.value for other in events if other.key == event.key and start <= other.time <= end]
            if held:
                table[_name(event.key, start, end)] = "".join(held)
    return table


def session_windows(events: Iterable[Event], gap: int, grace: int) -> Table:
    """Where a record joins two sessions, the earlier one's values come first, the record's last."""
    sessions: set[tuple[str, int, int, str]] = set()
    now = -1
    for event in events:
        now = max(now, event.time)
        near = sorted(
            held for held in sessions if held[0] == event.key and held[1] - gap <= event.time <= held[2] + gap
        )
        start = min([event.time, *(held[1] for held in near)])
        end = max([event.time, *(held[2] for held in near)])
        if end >= now - gap - grace:
            sessions.difference_update(near)
            sessions.add((event.key, start, end, "".join(held[3] for held in near) + event.value))
    return {_name(key, start, end): values for key, start, end, values in sessions}


def _append(table: Table, event: Event, start: int, end: int) -> None:
    name = _name(event.key, start, end)
    table[name] = table.get(name, "") + event.value


def _name(key: str, start: int, end: int) -> str:
    return f"[{key}@{start}/{end}]"
