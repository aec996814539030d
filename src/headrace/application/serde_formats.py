"""What is known of the bytes that a serde writes: enough to see that two of ours do not fit each other."""

from __future__ import annotations

from typing import Any

from headrace.serde.json_values import JsonSerde
from headrace.serde.primitives import BooleanSerde, FloatingSerde, IntegerSerde, StringSerde, UuidSerde


def format_of(serde: Any) -> str:
    """The name of the format; nothing where it is the user's own, or depends on more than the class.

    >>> format_of(serdes.long()), format_of(serdes.json()), format_of(serdes.bytes())
    ('long', 'json', '')
    """
    if isinstance(serde, JsonSerde):
        return "json"
    known = (StringSerde, IntegerSerde, FloatingSerde, BooleanSerde, UuidSerde)
    return serde.name.removesuffix("()") if isinstance(serde, known) else ""
