"""Space around text as Java sees it."""

from __future__ import annotations

_SPACE = "".join(map(chr, range(0x21)))


def trimmed(text: str) -> str:
    """Without characters up to U+0020 at both ends; other spaces stay."""
    return text.strip(_SPACE)
