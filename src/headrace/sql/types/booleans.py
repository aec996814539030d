"""Text that means true or false: ``true`` and ``yes``, ``false`` and ``no``, or the beginning of one of them."""

from __future__ import annotations

from headrace.sql.types.trimming import trimmed


def is_true_text(text: str) -> bool:
    """Whether it means true.

    >>> is_true_text("Yes"), is_true_text("t"), is_true_text("1")
    (True, True, False)
    """
    return _begins(text, "true", "yes")


def is_boolean_text(text: str) -> bool:
    """Whether it means true or false."""
    return _begins(trimmed(text), "true", "yes", "false", "no")


def _begins(text: str, *words: str) -> bool:
    return bool(text) and any(word.startswith(text.lower()) for word in words)
