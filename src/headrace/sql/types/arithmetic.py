"""Java's division of whole numbers and of doubles."""

from __future__ import annotations

import math


def quotient(left: int, right: int) -> int:
    """Toward zero."""
    found = abs(left) // abs(right)
    return found if (left < 0) is (right < 0) else -found


def remainder(left: int, right: int) -> int:
    """With the sign of ``left``."""
    found = abs(left) % abs(right)
    return -found if left < 0 else found


def double_quotient(left: float, right: float) -> float:
    """As IEEE 754 has it: nothing fails."""
    try:
        return left / right
    except ZeroDivisionError:
        if left == 0 or left != left:
            return math.nan
        return math.copysign(math.inf, left) * math.copysign(1.0, right)


def double_remainder(left: float, right: float) -> float:
    """With the sign of ``left``; NaN where there is none."""
    try:
        return math.fmod(left, right)
    except ValueError:  # an infinity on the left, a zero on the right
        return math.nan
