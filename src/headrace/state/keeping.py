"""What stores and operators remember outside of their entries, as plain data, so that a task can be put down.

A class names the attributes that matter in ``kept``: times it has observed, sequence numbers, counts. Their values are
numbers, text, bytes, lists and dicts of these, or objects that name what they keep in turn. They become MessagePack,
never a pickle: what is read back can be anything but code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

dump = msgspec.msgpack.Encoder().encode
load = msgspec.msgpack.Decoder().decode


def keep(thing: Any) -> dict[str, Any]:
    """The attributes that ``thing`` keeps."""
    return {name: _plain(getattr(thing, name)) for name in _kept(thing)}


def take_up(thing: Any, kept: dict[str, Any]) -> None:
    """Give ``thing`` back what it kept; values of attributes that no longer exist are ignored."""
    for name in _kept(thing):
        held = getattr(thing, name)
        if name not in kept or held is None:
            continue
        if not _kept(held):
            setattr(thing, name, kept[name])
        elif kept[name] is not None:
            take_up(held, kept[name])


def layers(store: Any) -> Iterator[Any]:
    """A store and the layers below it, from the outermost to the one that holds the bytes."""
    while store is not None:
        yield store
        store = getattr(store, "inner", None) or getattr(store, "bytes_store", None)


def keep_store(store: Any) -> list[dict[str, Any]]:
    """What the layers of a store keep, from the outermost."""
    return [keep(layer) for layer in layers(store)]


def take_up_store(store: Any, kept: list[dict[str, Any]]) -> None:
    """Give the layers back what they kept; nothing if the layers are not the same as then."""
    stack = list(layers(store))
    if len(stack) == len(kept):
        for layer, attributes in zip(stack, kept, strict=True):
            take_up(layer, attributes)


def _kept(thing: Any) -> tuple[str, ...]:
    return getattr(type(thing), "kept", ())


def _plain(value: Any) -> Any:
    return keep(value) if _kept(value) else value
