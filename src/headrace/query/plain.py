"""Values of any kind as what JSON can say."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec


def plain(value: Any) -> Any:
    """``value`` as text, numbers, booleans, None, and lists and dicts of these. Bytes become base64.

    >>> plain({"at": (1, 2), b"raw": b"raw"})
    {'at': [1, 2], 'cmF3': 'cmF3'}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {_name(name): plain(inner) for name, inner in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    return str(value)


def json_text(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


def _name(name: Any) -> str:
    name = plain(name)
    return name if isinstance(name, str) else json.dumps(name, ensure_ascii=False)
