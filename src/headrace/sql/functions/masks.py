"""Masks over texts: letters and digits become others, so that only the shape is left."""

from __future__ import annotations

import unicodedata

from headrace.sql.functions.declare import scalar
from headrace.sql.types.utf16 import joined, units

_DEFAULTS = ("X", "x", "n", "-")
_MASKS = "STRING upper, STRING lower, STRING digit, STRING other"


def _masked(text: str, masks: tuple[str | None, ...]) -> str:
    """A null mask leaves its kind of characters as they are."""
    upper, lower, digit, other = masks
    by_category = {"Lu": upper, "Ll": lower, "Nd": digit}
    return "".join(by_category.get(unicodedata.category(char), other) or char for char in text)


def _checked(masks: tuple[str | None, ...]) -> tuple[str | None, ...]:
    if not masks:
        return _DEFAULTS
    for mask in masks:
        if mask is not None and len(units(mask)) != 1:
            message = f"a mask is one character, and {mask!r} is not"
            raise ValueError(message)
    return masks


@scalar("MASK", "(STRING text) -> STRING", f"(STRING text, {_MASKS}) -> STRING", description="Every character masked.")
def mask(text: str | None, *masks: str | None) -> str | None:
    checked = _checked(masks)
    return None if text is None else joined(_masked(units(text), checked))


_PARTIAL = ("(STRING text, INTEGER count) -> STRING", f"(STRING text, INTEGER count, {_MASKS}) -> STRING")


@scalar("MASK_LEFT", *_PARTIAL, description="The first characters masked.")
def mask_left(text: str | None, count: int | None, *masks: str | None) -> str | None:
    left, right = _cut(text, count, masks, from_right=False)
    return None if text is None else joined(_masked(left, masks or _DEFAULTS) + right)


@scalar("MASK_KEEP_LEFT", *_PARTIAL, description="All but the first characters masked.")
def mask_keep_left(text: str | None, count: int | None, *masks: str | None) -> str | None:
    left, right = _cut(text, count, masks, from_right=False)
    return None if text is None else joined(left + _masked(right, masks or _DEFAULTS))


@scalar("MASK_RIGHT", *_PARTIAL, description="The last characters masked.")
def mask_right(text: str | None, count: int | None, *masks: str | None) -> str | None:
    left, right = _cut(text, count, masks, from_right=True)
    return None if text is None else joined(left + _masked(right, masks or _DEFAULTS))


@scalar("MASK_KEEP_RIGHT", *_PARTIAL, description="All but the last characters masked.")
def mask_keep_right(text: str | None, count: int | None, *masks: str | None) -> str | None:
    left, right = _cut(text, count, masks, from_right=True)
    return None if text is None else joined(_masked(left, masks or _DEFAULTS) + right)


def _cut(text: str | None, count: int | None, masks: tuple[str | None, ...], *, from_right: bool) -> tuple[str, str]:
    """The two parts of a text, after a look at the other arguments."""
    _checked(masks)
    if count is None or count < 0:
        message = f"the number of characters of a mask is not negative, and {count} is"
        raise ValueError(message)
    whole = units(text or "")
    at = max(0, len(whole) - count) if from_right else count
    return whole[:at], whole[at:]
