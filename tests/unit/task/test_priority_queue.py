"""Ties must fall as in java.util.PriorityQueue."""

from __future__ import annotations

import random

from headrace.task.priority_queue import PriorityQueue


def drained(queue: PriorityQueue[tuple[int, str]]) -> list[str]:
    names = []
    while (item := queue.poll()) is not None:
        names.append(item[1])
    return names


def test_gives_items_by_rank() -> None:
    queue: PriorityQueue[tuple[int, str]] = PriorityQueue(lambda item: item[0])
    numbers = [random.Random(7).randrange(50) for _ in range(200)]
    for number in numbers:
        queue.offer((number, str(number)))
    assert drained(queue) == [str(number) for number in sorted(numbers)]


def test_breaks_ties_as_java_does() -> None:
    queue: PriorityQueue[tuple[int, str]] = PriorityQueue(lambda item: item[0])
    for name in "abcde":
        queue.offer((1, name))
    # After a poll Java moves the last item to the top: a, then e, d, c, b.
    assert drained(queue) == ["a", "e", "d", "c", "b"]


def test_an_empty_queue_gives_none() -> None:
    queue: PriorityQueue[int] = PriorityQueue(lambda item: item)
    assert queue.poll() is None
    assert queue.peek() is None
