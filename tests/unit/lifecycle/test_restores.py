"""Restores are told from their notes while they run, and from the report of their batch."""

from __future__ import annotations

import pytest

from headrace.application.restore_notes import RestoreNote
from headrace.lifecycle.restores import RestoreEvent, RestoreStep, RestoreWatch

START, BATCH, END = RestoreStep


def note(offset: int, store: str = "counts") -> RestoreNote:
    return RestoreNote(store, "changelog", 0, start_offset=10, end_offset=100, offset=offset, restored=offset - 10)


def watched() -> tuple[RestoreWatch, list[RestoreEvent]]:
    watch, events = RestoreWatch(), list[RestoreEvent]()
    watch.listen(events.append)
    return watch, events


def test_a_long_restore_begins_goes_on_and_ends() -> None:
    watch, events = watched()
    watch.see([note(40)])
    watch.see([note(40)])
    watch.see([note(70)])
    watch.finish({("counts", "changelog", 0): 90})

    assert events == [
        RestoreEvent(START, "counts", "changelog", 0, 0, 10, 10, 100),
        RestoreEvent(BATCH, "counts", "changelog", 0, 30, 10, 40, 100),
        RestoreEvent(BATCH, "counts", "changelog", 0, 60, 10, 70, 100),
        RestoreEvent(END, "counts", "changelog", 0, 90, 10, 100, 100),
    ]


def test_a_short_restore_is_known_when_it_is_over() -> None:
    watch, events = watched()
    watch.finish({("counts", "changelog", 0): 3})

    assert [(event.step, event.restored, event.offset) for event in events] == [(START, 0, None), (END, 3, None)]


def test_a_restore_that_begins_anew_says_so() -> None:
    watch, events = watched()
    watch.see([note(70)])
    watch.see([note(20)])

    assert [event.step for event in events] == [START, BATCH, START, BATCH]


def test_stores_are_told_apart() -> None:
    watch, events = watched()
    watch.see([note(40), note(20, "sums")])

    assert [(event.step, event.store) for event in events] == [
        (START, "counts"),
        (BATCH, "counts"),
        (START, "sums"),
        (BATCH, "sums"),
    ]


def test_a_listener_that_fails_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    watch, events = watched()
    watch._listeners.insert(0, lambda event: 1 // 0)
    watch.see([note(40)])

    assert len(events) == 2
    assert "a restore listener failed" in caplog.text
