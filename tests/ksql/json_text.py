"""JSON in which numbers have the text they had in the case."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any


def json_text(said: Any) -> str:
    """A value as JSON."""
    match said:
        case dict():
            return "{" + ",".join(f"{json.dumps(name)}:{json_text(value)}" for name, value in said.items()) + "}"
        case list():
            return "[" + ",".join(map(json_text, said)) + "]"
        case Decimal():
            return str(said)
        case _:
            return json.dumps(said, ensure_ascii=False)
