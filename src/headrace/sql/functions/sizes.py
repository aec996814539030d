"""How large a value may be whose size is an argument: a larger one fails, instead of taking all memory there is."""

from __future__ import annotations

_LONGEST = 2**24
_MOST_ELEMENTS = 2**20


def check_length(length: int) -> None:
    """Of a text or bytes."""
    if length > _LONGEST:
        message = f"a length of {length} is more than the {_LONGEST} that can be made at once"
        raise ValueError(message)


def check_elements(count: int) -> None:
    """Of an array."""
    if count > _MOST_ELEMENTS:
        message = f"{count} elements are more than the {_MOST_ELEMENTS} that can be made at once"
        raise ValueError(message)
