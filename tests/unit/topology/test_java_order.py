"""Java's iteration orders, compared with what a JVM (Java 17) and a conformance case printed."""

from __future__ import annotations

import pytest

from headrace.topology.java_order import TreeSet, copied_hash_order, hash_order, string_hash


@pytest.mark.parametrize(
    ("text", "code"),
    [("", 0), ("a", 97), ("KSTREAM-SOURCE-0000000000", 0x6EF5D130), ("ü", 252), ("\N{GRINNING FACE}", 1772899)],
)
def test_hashes_a_text_as_java_does(text: str, code: int) -> None:
    assert string_hash(text) == code


def test_iterates_topics_as_kafka_prints_them() -> None:
    assert copied_hash_order(["t1", "t0", "t22", "a-topic"]) == ["t22", "t0", "t1", "a-topic"]


def test_the_order_changes_when_the_table_grows() -> None:
    kinds = ("MAP", "FILTER", "PEEK", "SINK", "SOURCE")
    names = [f"KSTREAM-{kinds[number % 5]}-{number}" for number in range(13)]
    numbers = {name: number for number, name in enumerate(names)}
    before = [numbers[name] for name in hash_order(names[:12])]
    after = [numbers[name] for name in hash_order(names)]
    assert before == [3, 5, 9, 1, 11, 7, 8, 6, 0, 2, 4, 10]
    assert after == [9, 1, 7, 8, 0, 2, 4, 10, 3, 5, 11, 12, 6]


def test_names_with_the_same_hash_keep_the_order_of_insertion() -> None:
    assert string_hash("Aa") == string_hash("BB")
    assert hash_order(["BB", "Aa"]) == ["BB", "Aa"]
    assert hash_order(["Aa", "BB"]) == ["Aa", "BB"]


def test_a_name_added_twice_is_there_once() -> None:
    assert hash_order(["x", "y", "x"]) == ["x", "y"]


def test_a_tree_set_sorts_when_the_comparison_is_stable() -> None:
    numbers = [(17 * n) % 101 for n in range(101)]
    tree = TreeSet[int](lambda one, other: one - other)
    for number in (*numbers, *numbers):
        tree.add(number)
    assert list(tree) == sorted(numbers)


def test_a_tree_set_remembers_its_shape_when_the_comparison_changes() -> None:
    sizes = [1] * 12
    tree = TreeSet[int](lambda one, other: 0 if one == other else sizes[other] - sizes[one] or one - other)
    for turn in range(12):
        number = turn * 7 % 12
        tree.add(number)
        sizes[(number * 5 + 1) % 12] += turn
        sizes[number] += 2
    assert list(tree) == [5, 0, 7, 2, 9, 8, 4, 11, 6, 10, 1, 3]
