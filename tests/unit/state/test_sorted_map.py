"""The dict that sorts itself late."""

from __future__ import annotations

from random import Random

from headrace.state.memory.sorted_map import SortedMap


def test_keys_come_in_order_however_they_were_put() -> None:
    numbers: SortedMap[int, str] = SortedMap()
    for number in (3, 1, 2):
        numbers.put(number, str(number))

    assert numbers.keys(None, None) == [1, 2, 3]
    assert numbers.keys(2, None) == [2, 3]
    assert numbers.keys(None, 2, forward=False) == [2, 1]
    assert numbers.keys(3, 1) == []


def test_a_key_removed_and_put_again_comes_once() -> None:
    numbers: SortedMap[int, str] = SortedMap()
    numbers.put(1, "one")
    assert numbers.keys(None, None) == [1]

    numbers.remove(1)
    numbers.put(1, "uno")

    assert list(numbers.items(None, None)) == [(1, "uno")]


def test_items_leave_out_keys_removed_meanwhile_and_show_new_values() -> None:
    letters: SortedMap[str, int] = SortedMap()
    for letter in "abc":
        letters.put(letter, 1)

    seen = []
    for letter, value in letters.items(None, None):
        seen.append((letter, value))
        letters.remove("b")
        letters.put("c", 2)
        letters.put("d", 3)

    assert seen == [("a", 1), ("c", 2)]


def test_stays_sorted_through_many_changes() -> None:
    random = Random(7)
    numbers: SortedMap[int, int] = SortedMap()
    for _ in range(200):
        for _ in range(random.choice((1, 40))):
            number = random.randrange(100)
            if random.random() < 0.5:
                numbers.remove(number)
            else:
                numbers.put(number, number + 1)
        assert numbers.keys(None, None) == sorted(numbers.entries)
