"""Numbers as Java writes them."""

from __future__ import annotations

import math
from decimal import Decimal


def double_text(value: float) -> str:
    """The text of a DOUBLE: plain from 0.001 to below ten million, with an exponent otherwise.

    >>> double_text(1e10), double_text(0.001), double_text(5e-324)
    ('1.0E10', '0.001', '4.9E-324')
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign = "-" if value < 0 else ""
    digits, exponent = _digits(abs(value))
    if -3 <= exponent < 7:
        return sign + _plain(digits, exponent)
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _digits(value: float) -> tuple[str, int]:
    """Significant digits and the power of ten of the first one. Java wants two digits where there are two."""
    # repr gives the shortest digits that read back as the same number; so does Java from version 19 on.
    _, digit_tuple, power = Decimal(repr(value)).normalize().as_tuple()
    digits = "".join(map(str, digit_tuple))
    exponent = len(digits) - 1 + int(power)
    if len(digits) == 1:
        digits = f"{value:.1e}".partition("e")[0].replace(".", "").rstrip("0") or digits
    return digits, exponent


def _plain(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    whole, fraction = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{whole}.{fraction or '0'}"
