"""Names in canonical text."""

from __future__ import annotations

import re

from headrace.sql.keywords import RESERVED

_PLAIN = re.compile(r"[A-Z_][A-Z0-9_@]*|(?!\d+E\d+$)\d+[A-Z_][A-Z0-9_@]*")


def quoted(name: str) -> str:
    """As it must be written to mean ``name`` exactly.

    >>> quoted("ID"), quoted("id"), quoted("FROM"), quoted("1R"), quoted("1E5")
    ('ID', '`id`', '`FROM`', '1R', '`1E5`')
    """
    if _PLAIN.fullmatch(name) and name not in RESERVED:
        return name
    return "`" + name.replace("`", "``") + "`"
