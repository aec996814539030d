"""What it means that an engine wrote the same as the reference: in order, per key, or in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias


class Shown(NamedTuple):
    """A record as it is compared. ``task`` is known of the reference's only; without a partition it may be in any."""

    topic: str
    partition: int | None
    key: str | None
    value: str | None
    timestamp: int
    headers: str
    task: str = ""

    @property
    def content(self) -> tuple[str | None, str | None, int, str]:
        """What a reader of the partition sees."""
        return self[2:6]


Difference: TypeAlias = dict[str, Any]
Agreement: TypeAlias = Callable[[Sequence[Shown], Sequence[Shown]], list[Difference]]


def in_order(expected: Sequence[Shown], found: Sequence[Shown]) -> list[Difference]:
    """Each partition holds the records of the tasks that wrote to it, those of each task in the order it wrote them.

    In topics with records that may go to any partition, what there is counts, not where.
    """
    anywhere = {record.topic for record in expected if record.partition is None}
    wanted, got = ([each for each in records if each.topic not in anywhere] for records in (expected, found))
    places = _groups(wanted, _place), _groups(got, _place)
    differences = []
    for place in sorted({*places[0], *places[1]}):
        parts = {task: _contents(own) for task, own in _groups(places[0].get(place, ()), lambda r: r.task).items()}
        whole = _contents(places[1].get(place, ()))
        if not is_interleaving(whole, list(parts.values())):
            differences.append({"where": place, "expected": parts, "found": whole})
    return differences + _regardless_of_order(*([r for r in rs if r.topic in anywhere] for rs in (expected, found)))


def per_key(expected: Sequence[Shown], found: Sequence[Shown]) -> list[Difference]:
    """The records of each key of each topic, in order. Those without a key have none."""
    wanted, got = (
        _groups((record for record in records if record.key is not None), lambda record: (record.topic, record.key))
        for records in (expected, found)
    )
    pairs = [(at, _contents(wanted.get(at, ())), _contents(got.get(at, ()))) for at in sorted({*wanted, *got})]
    differences = [{"where": at, "expected": left, "found": right} for at, left, right in pairs if left != right]
    return differences + _regardless_of_order(*([r for r in rs if r.key is None] for rs in (expected, found)))


def at_last(expected: Iterable[Shown], found: Iterable[Shown]) -> list[Difference]:
    """The last value of each key of each topic; a null is the same as none at all.

    Time and headers are those of the last update, even if it changed nothing: they depend on which updates were seen.
    """
    wanted, got = (
        {(record.topic, record.key): record.value for record in records if record.key is not None}
        for records in (expected, found)
    )
    return [
        {"where": at, "expected": wanted.get(at), "found": got.get(at)}
        for at in sorted({*wanted, *got})
        if wanted.get(at) != got.get(at)
    ]


def is_interleaving(whole: Sequence[Any], parts: Sequence[Sequence[Any]]) -> bool:
    """Whether ``whole`` is all of ``parts``, each in its order.

    >>> is_interleaving("abxcy", ["abc", "xy"]), is_interleaving("bax", ["ab", "x"])
    (True, False)
    """
    if len(whole) != sum(map(len, parts)):
        return False
    reached = {(0,) * len(parts)}
    for item in whole:
        reached = {
            (*at[:n], at[n] + 1, *at[n + 1 :])
            for at in reached
            for n, part in enumerate(parts)
            if at[n] < len(part) and part[at[n]] == item
        }
    return bool(reached)


def _regardless_of_order(expected: Iterable[Shown], found: Iterable[Shown]) -> list[Difference]:
    wanted, got = (Counter((record.topic, *record.content) for record in records) for records in (expected, found))
    if wanted == got:
        return []
    missing, too_many = list((wanted - got).elements()), list((got - wanted).elements())
    return [{"where": "anywhere", "expected": missing, "found": too_many}]


def _groups(records: Iterable[Shown], by: Callable[[Shown], Any]) -> dict[Any, list[Shown]]:
    groups: dict[Any, list[Shown]] = {}
    for record in records:
        groups.setdefault(by(record), []).append(record)
    return groups


def _place(record: Shown) -> tuple[str, int]:
    assert record.partition is not None
    return record.topic, record.partition


def _contents(records: Iterable[Shown]) -> list[Any]:
    return [record.content for record in records]
