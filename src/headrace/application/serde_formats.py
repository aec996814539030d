"""What is known of the bytes that a serde writes: enough to see that two of ours do not fit each other."""

from __future__ import annotations

from typing import Any

from headrace.serde.json_values import JsonSerde
from headrace.serde.primitives import BooleanSerde, DoubleSerde, FloatSerde, IntegerSerde, StringSerde, UuidSerde

_NAMES = {
    StringSerde: "string",
    DoubleSerde: "double",
    FloatSerde: "float",
    BooleanSerde: "boolean",
    UuidSerde: "uuid",
    JsonSerde: "json",
}


def format_of(serde: Any) -> str:
    """The name of the format; nothing where it is the user's own, or depends on more than the class.

    >>> format_of(serdes.long()), format_of(serdes.json()), format_of(serdes.bytes())
    ('long', 'json', '')
    """
    if isinstance(serde, IntegerSerde):
        return serde.name.removesuffix("()")
    return _NAMES.get(type(serde), "")
