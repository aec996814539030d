"""Writes records with text as keys into the columns of a host that takes them: each key is encoded and placed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from headrace.records import Headers
from headrace.serde.primitives import StringSerde
from headrace.task.context import Take

if TYPE_CHECKING:
    from headrace.serde import Serde
    from headrace.task.collector import TopicWriter

_MAX_PLACES = 1 << 16


class Columns(Protocol):
    """The records of one partition on their way out: add the value, append to ``keys`` and, at last, ``timestamps``."""

    timestamps: list[int]
    keys: list[bytes | None]
    limit: int
    """At so many records ``seal`` is due."""

    def add_value(self, value: bytes | None) -> None:
        """Not called where the value is the key once more."""

    def seal(self) -> None:
        """Make room."""


_Target: TypeAlias = tuple[Columns, list[int], Callable[["bytes | None"], None]]
"""Columns, and what is used of them for every record."""


def column_writer(writer: TopicWriter, columns_of: Callable[[bytes], Columns], value_serde: Serde[Any]) -> Take:
    """What writes as ``writer.send`` does, to the columns of the partition that a key belongs to.

    The key serde is that of text. What is not a plain record is left to ``writer``.
    """
    place_of, find = _places(columns_of)
    send, serialize, topic = writer.send, value_serde.serialize, writer.topic
    collector, count, is_text = writer.collector, writer.count, type(value_serde) is StringSerde

    def take(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if type(key) is not str or headers or collector.failure is not None:
            send(key, value, timestamp, headers)
            return
        try:
            raw_key, (columns, timestamps, add_key) = find(key) or place_of(key)
            size = len(raw_key)
            if value is key and is_text:
                size += size
            else:
                raw_value = value.encode() if is_text and type(value) is str else serialize(topic, value)
                size += len(raw_value or b"")
                columns.add_value(raw_value)
        except UnicodeEncodeError:
            send(key, value, timestamp, headers)
            return
        except Exception as error:
            writer.refuse_value(key, value, timestamp, headers, error)
            return
        add_key(raw_key)
        timestamps.append(timestamp)
        count.records += 1
        count.content_bytes += size
        if len(timestamps) >= columns.limit:
            columns.seal()

    return take


def _places(
    columns_of: Callable[[bytes], Columns],
) -> tuple[Callable[[str], tuple[bytes, _Target]], Callable[[str], tuple[bytes, _Target] | None]]:
    """What finds out the bytes and the target of a key, and what remembers them.

    Keys of one partition share their target: what is looked at for every record should be little, and stay near.
    """
    places: dict[str, tuple[bytes, _Target]] = {}
    targets: dict[int, _Target] = {}

    def place_of(key: str) -> tuple[bytes, _Target]:
        raw_key = key.encode()
        columns = columns_of(raw_key)
        target = targets.get(id(columns))
        if target is None:
            target = targets[id(columns)] = columns, columns.timestamps, columns.keys.append
        if len(places) >= _MAX_PLACES:
            places.clear()
        found = places[key] = raw_key, target
        return found

    return place_of, places.get
