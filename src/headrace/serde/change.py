"""The serde of changes: how a table's updates cross a repartition topic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from headrace.errors import SerializationError
from headrace.records import Change
from headrace.serde.contract import Serde, shorten, wrong_type
from headrace.serde.defaults import SerdeSettings, known_inner, resolve_inner
from headrace.serde.varint import read_varint, write_varint

_OLD_ONLY, _NEW_ONLY, _BOTH = 0, 1, 2
_OLD_ONLY_WITH_LATEST, _NEW_ONLY_WITH_LATEST, _BOTH_WITH_LATEST = 3, 4, 5
_BEFORE_BOTH = ("2.4", "2.5", "2.6", "2.7", "2.8", "3.0", "3.1", "3.2", "3.3", "3.4")


@dataclass(frozen=True, slots=True)
class ChangeSerde:
    """Old and new value in one: the values' bytes, then one byte that says which of them are there.

    ``one_value_only`` is for applications being upgraded from Kafka Streams 3.4 or older (``upgrade.from``),
    whose readers do not know a change with both values.
    """

    inner: Serde[Any] | None = None
    one_value_only: bool = False

    def serialize(self, topic: str, value: Change | None) -> bytes | None:
        """The bytes of a change; one without any value is an error."""
        if value is None:
            return None
        if not isinstance(value, Change):
            raise wrong_type("ChangeSerde", "Change", value)
        inner = known_inner(self.inner, "ChangeSerde")
        new, old = inner.serialize(topic, value.new), inner.serialize(topic, value.old)
        if new is not None and old is not None:
            return self._both(new, old, value)
        if new is not None:
            return b"%b\x01" % new
        if old is not None:
            return b"%b\x00" % old
        raise SerializationError("a change needs an old or a new value, found neither")

    def deserialize(self, topic: str, data: bytes | None) -> Change | None:
        if data is None:
            return None
        inner = known_inner(self.inner, "ChangeSerde")
        new, old, is_latest = _split(data)
        return Change(inner.deserialize(topic, new), inner.deserialize(topic, old), is_latest)

    def with_defaults(self, config: SerdeSettings, is_key: bool = False) -> ChangeSerde:
        return replace(
            self,
            inner=resolve_inner(self.inner, config, is_key=is_key),
            one_value_only=config["upgrade.from"] in _BEFORE_BOTH,
        )

    def _both(self, new: bytes, old: bytes, value: Change) -> bytes:
        if self.one_value_only:
            raise SerializationError(
                "a change cannot carry both its old and its new value while upgrade.from is 3.4 or older",
                detail=f"change {shorten(value)}",
            )
        return b"%b%b%b\x02" % (write_varint(len(new)), new, old)


def _split(data: bytes) -> tuple[bytes | None, bytes | None, bool]:
    if not data:
        raise _malformed(data)
    flag, body = data[-1], data[:-1]
    is_latest = True
    if _OLD_ONLY_WITH_LATEST <= flag <= _BOTH_WITH_LATEST:
        flag, body, is_latest = flag - _OLD_ONLY_WITH_LATEST, body[:-1], _read_is_latest(data)
    if flag == _OLD_ONLY:
        return None, body, is_latest
    if flag == _NEW_ONLY:
        return body, None, is_latest
    if flag == _BOTH:
        size, start = _read_size(body)
        if not 0 <= size <= len(body) - start:
            raise _malformed(data)
        return body[start : start + size], body[start + size :], is_latest
    raise _malformed(data)


def _read_is_latest(data: bytes) -> bool:
    if len(data) < 2 or data[-2] > 1:
        raise _malformed(data)
    return data[-2] == 1


def _read_size(body: bytes) -> tuple[int, int]:
    try:
        return read_varint(body)
    except ValueError:
        raise _malformed(body) from None


def _malformed(data: bytes) -> SerializationError:
    message = f"the bytes {shorten(data)} are no change"
    return SerializationError(message, hint="Was the repartition topic written by another application?")
