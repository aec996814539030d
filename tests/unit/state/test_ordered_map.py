from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.state.ordered_map import OrderedMap


@given(st.lists(st.tuples(st.sampled_from(["put", "pop", "pop first"]), st.integers(0, 20))))
def test_the_map_is_always_sorted(steps: list[tuple[str, int]]) -> None:
    numbers: OrderedMap[int, str] = OrderedMap()
    expected: dict[int, str] = {}
    for step, number in steps:
        if step == "put":
            numbers.put(number, str(number))
            expected[number] = str(number)
        elif step == "pop":
            assert numbers.pop(number) == expected.pop(number, None)
        elif (first := numbers.first()) is not None:
            assert first[0] == min(expected)
            numbers.put(first[0], None)
            del expected[first[0]]

    assert list(numbers.scan()) == sorted(expected.items())
    assert len(numbers) == len(expected)


def test_taking_out_many_first_keys_keeps_the_rest() -> None:
    numbers: OrderedMap[int, int] = OrderedMap()
    for number in range(5000):
        numbers.put(number, number)
    for number in range(4000):
        assert numbers.first() == (number, number)
        numbers.pop(number)
    numbers.put(-1, 1)

    assert [key for key, _ in numbers.scan()] == [-1, *range(4000, 5000)]
    assert [key for key, _ in numbers.scan(4001, 4003)] == [4001, 4002]


def test_a_scan_goes_on_while_entries_are_removed() -> None:
    numbers: OrderedMap[int, int] = OrderedMap()
    for number in range(3000):
        numbers.put(number, number)
    seen = []
    for key, _ in numbers.scan():
        seen.append(key)
        numbers.pop(key)

    assert seen == list(range(3000))
    assert numbers.first() is None
