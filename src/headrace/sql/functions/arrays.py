"""Arrays. Elements are compared as Java compares them; null is an element like any other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.sql.functions.declare import scalar
from headrace.sql.functions.natural import distinct, identity, is_among, order
from headrace.sql.functions.sizes import check_elements
from headrace.sql.tree import types
from headrace.sql.types.java_maps import hash_order
from headrace.sql.types.java_text import text_of
from headrace.sql.types.numbers import wrap32, wrap64


@scalar("ARRAY_LENGTH", "(ARRAY<T> array) -> INTEGER", description="The number of elements.")
def length(array: list[Any] | None) -> int | None:
    return None if array is None else len(array)


@scalar("ARRAY_CONTAINS", "(ARRAY<T> array, T item) -> BOOLEAN", description="Whether an item is in an array.")
def contains(array: list[Any] | None, item: Any) -> bool:
    return array is not None and is_among(item, array)


@scalar("ARRAY_CONCAT", "(ARRAY<T> left, ARRAY<T> right) -> ARRAY<T>", description="Both arrays in a row.")
def concat(left: list[Any] | None, right: list[Any] | None) -> list[Any] | None:
    return None if left is None and right is None else [*(left or ()), *(right or ())]


@scalar("ARRAY_DISTINCT", "(ARRAY<T> array) -> ARRAY<T>", description="Each element once, where it came first.")
def without_duplicates(array: list[Any] | None) -> list[Any] | None:
    return None if array is None else distinct(array)


@scalar("ARRAY_EXCEPT", "(ARRAY<T> left, ARRAY<T> right) -> ARRAY<T>", description="What is left but not right, once.")
def difference(left: list[Any] | None, right: list[Any] | None) -> list[Any] | None:
    if left is None or right is None:
        return None
    unwanted = set(map(identity, right))
    return [item for item in distinct(left) if identity(item) not in unwanted]


@scalar("ARRAY_INTERSECT", "(ARRAY<T> left, ARRAY<T> right) -> ARRAY<T>", description="What is in both, once.")
def intersection(left: list[Any] | None, right: list[Any] | None) -> list[Any] | None:
    if left is None or right is None:
        return None
    wanted = set(map(identity, right))
    return [item for item in distinct(left) if identity(item) in wanted]


@scalar("ARRAY_UNION", "(ARRAY<T> left, ARRAY<T> right) -> ARRAY<T>", description="What is in either, once.")
def union(left: list[Any] | None, right: list[Any] | None) -> list[Any] | None:
    return None if left is None or right is None else distinct([*left, *right])


@scalar("ARRAY_REMOVE", "(ARRAY<T> array, T item) -> ARRAY<T>", description="Without the elements that equal an item.")
def remove(array: list[Any] | None, item: Any) -> list[Any] | None:
    unwanted = identity(item)
    return None if array is None else [element for element in array if identity(element) != unwanted]


@scalar("ARRAY_MAX", "(ARRAY<T> array) -> T", description="The greatest element that is not null.")
def greatest(array: list[Any] | None) -> Any:
    return max((item for item in array or () if item is not None), key=order, default=None)


@scalar("ARRAY_MIN", "(ARRAY<T> array) -> T", description="The least element that is not null.")
def least(array: list[Any] | None) -> Any:
    return min((item for item in array or () if item is not None), key=order, default=None)


@scalar(
    "ARRAY_SORT",
    "(ARRAY<T> array) -> ARRAY<T>",
    "(ARRAY<T> array, STRING direction) -> ARRAY<T>",
    description="In order, ASC or DESC; nulls come last.",
)
def sort(array: list[Any] | None, direction: str | None = "ASC") -> list[Any] | None:
    directions = {"ASC": False, "ASCENDING": False, "DESC": True, "DESCENDING": True}
    if array is None or direction is None or direction.upper() not in directions:
        return None
    known = [item for item in array if item is not None]
    return sorted(known, key=order, reverse=directions[direction.upper()]) + [None] * (len(array) - len(known))


_JOINABLE = (types.BOOLEAN, types.INTEGER, types.BIGINT, types.DOUBLE, types.STRING)


@scalar(
    "ARRAY_JOIN",
    "(ARRAY<T> array) -> STRING",
    "(ARRAY<T> array, STRING delimiter) -> STRING",
    typed=True,
    description="The elements as one text, with commas or another delimiter between them.",
)
def joining(given: tuple[types.SqlType | None, ...]) -> Callable[..., str | None]:
    item_type = given[0].item if isinstance(given[0], types.Array) else None

    def join(array: list[Any] | None, delimiter: str | None = ",") -> str | None:
        if array is None:
            return None
        is_joinable = item_type in _JOINABLE or isinstance(item_type, types.Decimal)
        if not is_joinable and any(item is not None for item in array):
            message = f"elements of type {item_type} have no text to join"
            raise ValueError(message)
        return (delimiter or "").join(text_of(item, item_type) for item in array)

    return join


@scalar(
    "SLICE",
    "(ARRAY<T> array, INTEGER from, INTEGER to) -> ARRAY<T>",
    description="From an index to another, both included.",
)
def part(array: list[Any] | None, first: int | None, last: int | None) -> list[Any] | None:
    if array is None:
        return None
    start = 0 if first is None else first - 1
    end = len(array) if last is None else last
    if start < 0 or end > len(array):
        return None
    if start > end:
        message = f"a slice from {first} to {last} ends before it begins"
        raise ValueError(message)
    return array[start:end]


_SERIES = "(INTEGER from, INTEGER to) -> ARRAY<INTEGER>", "(INTEGER from, INTEGER to, INTEGER step) -> ARRAY<INTEGER>"


@scalar("GENERATE_SERIES", *_SERIES, description="The numbers from one to another, both included; at most 1048576.")
def series(first: int | None, last: int | None, *step: int | None) -> list[int]:
    return _series(first, last, step, wrap32)


@scalar(
    "GENERATE_SERIES",
    "(BIGINT from, BIGINT to) -> ARRAY<BIGINT>",
    "(BIGINT from, BIGINT to, INTEGER step) -> ARRAY<BIGINT>",
)
def long_series(first: int | None, last: int | None, *step: int | None) -> list[int]:
    return _series(first, last, step, wrap64)


def _series(
    first: int | None, last: int | None, given: tuple[int | None, ...], wrapped: Callable[[int], int]
) -> list[int]:
    if first is None or last is None or None in given:
        raise ValueError("the numbers of a series must not be null")
    distance = wrapped(last - first)
    step = next(iter(given), None) or (0 if given else 1 if distance > 0 else -1)
    if step == 0 or ((distance > 0) != (step > 0) and distance):
        message = f"a series from {first} to {last} has no step {step}"
        raise ValueError(message)
    count = 1 + abs(distance) // abs(step)
    check_elements(count)
    return [wrapped(first + index * step) for index in range(count)]


@scalar(
    "ENTRIES",
    *(
        f"(MAP<STRING, {name}> map, BOOLEAN sorted) -> ARRAY<STRUCT<K STRING, V {name}>>"
        for name in ("INTEGER", "BIGINT", "DOUBLE", "BOOLEAN", "STRING")
    ),
    description="The entries of a map, sorted by key if wanted.",
)
def entries(map_: dict[str, Any] | None, is_sorted: bool | None) -> list[tuple[str, Any]] | None:
    if is_sorted is None:
        raise ValueError("whether entries are sorted must not be null")
    if map_ is None:
        return None
    return sorted(map_.items(), key=lambda entry: order(entry[0])) if is_sorted else hash_order(map_)
