"""Types by name: which was probably meant, where there is none of a name."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.near_names import did_you_mean
from headrace.sql.tree.types import BY_NAME

_KNOWN = (
    "Types are BOOLEAN, INTEGER, BIGINT, DOUBLE, DECIMAL(p, s), STRING, BYTES, DATE, TIME, TIMESTAMP, ARRAY<t>,"
    " MAP<k, v>, STRUCT<...>, and those of CREATE TYPE."
)
_ELSEWHERE = {
    "BOOL": "BOOLEAN",
    "TINYINT": "INTEGER",
    "SMALLINT": "INTEGER",
    "INT32": "INTEGER",
    "LONG": "BIGINT",
    "INT64": "BIGINT",
    "FLOAT": "DOUBLE",
    "REAL": "DOUBLE",
    "NUMERIC": "DECIMAL(p, s)",
    "NUMBER": "DECIMAL(p, s)",
    "TEXT": "STRING",
    "CHAR": "STRING",
    "BINARY": "BYTES",
    "BLOB": "BYTES",
    "DATETIME": "TIMESTAMP",
}
"""Types under the names that they have in other dialects."""


def hint_for_type(name: str, registered: Iterable[str] = ()) -> str:
    """What to write instead of ``name``; ``registered`` are the names that CREATE TYPE made."""
    ours = _ELSEWHERE.get(name)
    near = did_you_mean(name, [*BY_NAME, "DECIMAL", *registered], shown=str)
    first = f"Here it is {ours}. " if ours is not None else f"{near} " if near is not None else ""
    return f"{first}{_KNOWN}"
