"""Functions that take functions: over arrays and maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.sql.functions.declare import scalar
from headrace.sql.types.java_maps import SizedMap, hash_order


@scalar("TRANSFORM", "(ARRAY<T> array, (T) => R change) -> ARRAY<R>", description="Every element changed.")
def transform_array(array: list[Any] | None, change: Callable[[Any], Any] | None) -> list[Any] | None:
    return None if array is None or change is None else [change(item) for item in array]


@scalar(
    "TRANSFORM",
    "(MAP<K, V> map, (K, V) => R key, (K, V) => T value) -> MAP<R, T>",
    description="Every entry changed; keys must stay different.",
)
def transform_map(
    map_: dict[Any, Any] | None, key: Callable[[Any, Any], Any] | None, value: Callable[[Any, Any], Any] | None
) -> dict[Any, Any] | None:
    if map_ is None or key is None or value is None:
        return None
    made = SizedMap()
    for entry in hash_order(map_):
        new_key, new_value = key(*entry), _known(value(*entry))
        if new_key in made:
            message = f"two entries have the key {new_key!r}"
            raise ValueError(message)
        made[new_key] = new_value
    return made


@scalar("FILTER", "(ARRAY<T> array, (T) => BOOLEAN test) -> ARRAY<T>", description="The elements that pass a test.")
def filter_array(array: list[Any] | None, test: Callable[[Any], bool | None] | None) -> list[Any] | None:
    return None if array is None or test is None else [item for item in array if _known(test(item))]


@scalar("FILTER", "(MAP<K, V> map, (K, V) => BOOLEAN test) -> MAP<K, V>", description="The entries that pass a test.")
def filter_map(map_: dict[Any, Any] | None, test: Callable[[Any, Any], bool | None] | None) -> dict[Any, Any] | None:
    if map_ is None or test is None:
        return None
    return SizedMap((key, _known(value)) for key, value in hash_order(map_) if _known(test(key, value)))


def _known(value: Any) -> Any:
    """Java makes such a map without null values, and has no tests that answer null."""
    if value is None:
        raise ValueError("a lambda made a null where none may be")
    return value


@scalar("REDUCE", "(ARRAY<T> array, S start, (S, T) => S step) -> S", description="One value out of all elements.")
def reduce_array(array: list[Any] | None, start: Any, step: Callable[[Any, Any], Any] | None) -> Any:
    if start is None or step is None:
        return None
    for item in array or ():
        start = step(start, item)
    return start


@scalar("REDUCE", "(MAP<K, V> map, S start, (S, K, V) => S step) -> S", description="One value out of all entries.")
def reduce_map(map_: dict[Any, Any] | None, start: Any, step: Callable[[Any, Any, Any], Any] | None) -> Any:
    if start is None or step is None:
        return None
    for key, value in hash_order(map_ or {}):
        start = step(start, key, value)
    return start
