"""Keys of a store as one writes them on the command line: as the store's own serde understands them."""

from __future__ import annotations

from typing import Any

import orjson

from headrace.cli.exits import UsageError
from headrace.cli.text_serdes import text_serde
from headrace.serde.contract import Serde, shorten

_NAMES = ("string", "json", "bytes", "long", "integer", "short", "double", "float", "boolean", "uuid")


def key_of(text: str, serde: Serde[Any], topic: str) -> Any:
    """The key that ``text`` stands for. Keys of serdes that are not known by name are JSON, or else text.

    >>> key_of("7", text_serde("long").serde, "counts-changelog")
    7
    """
    known = next((one for one in map(text_serde, _NAMES) if one.serde == serde), None)
    try:
        key = _json_or_text(text) if known is None else known.parse(text.encode())
        serde.serialize(topic, key)
    except (ValueError, TypeError) as error:
        name = type(serde).__name__ if known is None else known.name
        message = f"{shorten(text)} is no key of this store"
        raise UsageError(message, detail=f"Its keys are written by {name}: {error}") from error
    return key


def _json_or_text(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
