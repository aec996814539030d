"""What stores and operators remember outside of their entries, as plain data, so that a task can move.

A class names the attributes that matter in ``remembered``: times it has observed, sequence numbers, counts. Their
values are numbers, text, bytes, lists and dicts of these, or objects that name what they remember in turn. They become
MessagePack, never a pickle: what is read back can be anything but code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def snapshot(thing: Any) -> dict[str, Any]:
    """The attributes that ``thing`` remembers."""
    return {name: _plain(getattr(thing, name)) for name in _remembered(thing)}


def apply_snapshot(thing: Any, values: dict[str, Any]) -> None:
    """Give ``thing`` back what it remembered; values of attributes that no longer exist are ignored."""
    for name in _remembered(thing):
        held = getattr(thing, name)
        if name not in values or held is None:
            continue
        if not _remembered(held):
            setattr(thing, name, values[name])
        elif values[name] is not None:
            apply_snapshot(held, values[name])


def layers(store: Any) -> Iterator[Any]:
    """A store and the layers below it, from the outermost to the one that holds the bytes."""
    while store is not None:
        yield store
        store = getattr(store, "inner", None)


def store_snapshot(store: Any) -> list[dict[str, Any]]:
    """What the layers of a store remember, from the outermost."""
    return [snapshot(layer) for layer in layers(store)]


def apply_store_snapshot(store: Any, values: list[dict[str, Any]]) -> None:
    """Give the layers back what they remembered; nothing if the layers are not the same as then."""
    stack = list(layers(store))
    if len(stack) == len(values):
        for layer, attributes in zip(stack, values, strict=True):
            apply_snapshot(layer, attributes)


def _remembered(thing: Any) -> tuple[str, ...]:
    return getattr(type(thing), "remembered", ())


def _plain(value: Any) -> Any:
    return snapshot(value) if _remembered(value) else value
