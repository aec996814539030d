"""Maps. Where their order shows, it is that of a Java HashMap."""

from __future__ import annotations

from typing import Any

from headrace.sql.functions.declare import scalar
from headrace.sql.types.java_maps import SizedMap, hash_order


@scalar("AS_MAP", "(ARRAY<STRING> keys, ARRAY<V> values) -> MAP<STRING, V>", description="A map of keys and values.")
def as_map(keys: list[str] | None, values: list[Any] | None) -> dict[str, Any] | None:
    if keys is None or values is None:
        return None
    missing = [None] * (len(keys) - len(values))
    made = SizedMap(zip(keys, [*values, *missing], strict=False))
    made.capacity = len(keys)
    return made


@scalar("MAP_KEYS", "(MAP<STRING, V> map) -> ARRAY<STRING>", description="The keys.")
def keys(map_: dict[str, Any] | None) -> list[str] | None:
    return None if map_ is None else [key for key, _ in hash_order(map_)]


@scalar("MAP_VALUES", "(MAP<STRING, V> map) -> ARRAY<V>", description="The values.")
def values(map_: dict[str, Any] | None) -> list[Any] | None:
    return None if map_ is None else [value for _, value in hash_order(map_)]


@scalar(
    "MAP_UNION", "(MAP<STRING, V> left, MAP<STRING, V> right) -> MAP<STRING, V>", description="Both maps; right wins."
)
def union(left: dict[str, Any] | None, right: dict[str, Any] | None) -> dict[str, Any] | None:
    maps = [map_ for map_ in (left, right) if map_ is not None]
    if not maps:
        return None
    made = SizedMap(entry for map_ in maps for entry in hash_order(map_))
    # A HashMap takes room for the first map that is put into it.
    made.capacity = next((int(len(map_) / 0.75 + 1) for map_ in maps if map_), SizedMap.capacity)
    return made
