"""Names in canonical text."""

from __future__ import annotations

import re

from headrace.sql.keywords import RESERVED

_PLAIN = re.compile(r"[A-Z_][A-Z0-9_@]*")


def quoted(name: str) -> str:
    """As it must be written to mean ``name`` exactly.

    >>> quoted("ID"), quoted("id"), quoted("FROM")
    ('ID', '`id`', '`FROM`')
    """
    if _PLAIN.fullmatch(name) and name not in RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"
