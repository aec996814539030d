"""When schedules fire, and what a fire makes of the next one."""

from __future__ import annotations

from headrace.task.punctuation import Punctuation, PunctuationQueue


def schedule(queue: PunctuationQueue, name: str, due_ms: int, interval_ms: int) -> Punctuation:
    return queue.schedule(Punctuation(name, due_ms, interval_ms, lambda now: None))


def fired(queue: PunctuationQueue, now_ms: int) -> list[str]:
    names: list[str] = []
    queue.fire(now_ms, lambda punctuation, now: names.append(punctuation.node))
    return names


def test_fires_once_however_many_intervals_passed() -> None:
    queue = PunctuationQueue()
    held = schedule(queue, "a", 0, 10)
    assert fired(queue, 35) == ["a"]
    assert held.due_ms == 40
    assert fired(queue, 39) == []


def test_the_next_fire_lies_after_now() -> None:
    queue = PunctuationQueue()
    held = schedule(queue, "a", 0, 10)
    assert fired(queue, 40) == ["a"]
    assert held.due_ms == 50


def test_fires_in_order_of_due_time() -> None:
    queue = PunctuationQueue()
    schedule(queue, "late", 20, 100)
    schedule(queue, "early", 10, 100)
    assert fired(queue, 30) == ["early", "late"]


def test_a_cancelled_schedule_never_fires_again() -> None:
    queue = PunctuationQueue()
    held = schedule(queue, "a", 0, 10)
    held.cancel()
    assert fired(queue, 100) == []
    assert queue.next_due_ms is None


def test_can_be_cancelled_from_inside() -> None:
    queue = PunctuationQueue()
    schedule(queue, "a", 0, 10)
    assert queue.fire(5, lambda punctuation, now: punctuation.cancel())
    assert fired(queue, 100) == []


def test_tells_when_it_is_due_next() -> None:
    queue = PunctuationQueue()
    schedule(queue, "a", 70, 10)
    assert queue.next_due_ms == 70
