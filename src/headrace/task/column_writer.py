"""Writes records with text as keys to a host that takes them in columns: each key is encoded and placed once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from headrace.records import Headers
from headrace.serde.primitives import StringSerde
from headrace.task.context import Take

if TYPE_CHECKING:
    from headrace.serde import Serde
    from headrace.task.collector import TopicWriter


class TextRecords(Protocol):
    """Records on their way out: add the value, append to ``codes`` and, at last, to ``timestamps``."""

    @property
    def code_of(self) -> Mapping[str, int]:
        """What stands for a key; a UnicodeEncodeError where it cannot be written."""

    codes: list[int]
    timestamps: list[int]
    limit: int
    """At so many records ``seal`` is due."""

    def add_value(self, value: bytes | None) -> None:
        """Not called where the value equals the key."""

    def seal(self) -> None:
        """Make room. The records are counted then."""


def column_writer(writer: TopicWriter, records: TextRecords, value_serde: Serde[Any]) -> Take:
    """What writes as ``writer.send`` does, to ``records``.

    The key serde is that of text. What is not a plain record is left to ``writer``.
    """
    send, serialize, topic = writer.send, value_serde.serialize, writer.topic
    is_text = type(value_serde) is StringSerde
    code_of, timestamps, add_value, seal = records.code_of, records.timestamps, records.add_value, records.seal
    add_code, add_timestamp = records.codes.append, timestamps.append

    def take(key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        if type(key) is not str or headers:
            send(key, value, timestamp, headers)
            return
        try:
            code = code_of[key]
            if value is not key or not is_text:
                add_value(value.encode() if is_text and type(value) is str else serialize(topic, value))
        except UnicodeEncodeError:
            send(key, value, timestamp, headers)
            return
        except Exception as error:
            writer.refuse_value(key, value, timestamp, headers, error)
            return
        add_code(code)
        add_timestamp(timestamp)
        if len(timestamps) >= records.limit:
            seal()

    return take
