"""The digits of a DOUBLE, as Java wrote them before version 19: not always the fewest, nor always the nearest.

ksqlDB's results have these digits, so ours have them, too. Java's FloatingDecimal is followed step by step, also
where its numbers overflow.
"""

from __future__ import annotations

import math
import struct

_MANTISSA_BITS = 52
_HIDDEN_BIT = 1 << _MANTISSA_BITS
_LARGEST_WHOLE = 62
"""The binary exponent up to which a whole number is written from its own digits."""


def digits_of(value: float) -> tuple[str, int]:
    """The significant digits of a positive number, and the power of ten of the first one.

    >>> digits_of(0.1), digits_of(2.0**62)
    (('1', -1), ('46116860184273879', 18))
    """
    mantissa, exponent, precision = _parts(value)
    zeros = (mantissa & -mantissa).bit_length() - 1
    bits = _MANTISSA_BITS + 1 - zeros
    fraction_bits = max(0, bits - exponent - 1)
    if fraction_bits == 0 and exponent <= _LARGEST_WHOLE:
        return _whole_digits(mantissa, exponent, precision)
    return _Generation(mantissa >> zeros, exponent, bits, fraction_bits, precision, _estimate(mantissa, exponent)).run()


def _parts(value: float) -> tuple[int, int, int]:
    """The mantissa with its first bit at a fixed place, the binary exponent, and how many bits are exact."""
    (raw,) = struct.unpack(">q", struct.pack(">d", value))
    exponent, mantissa = raw >> _MANTISSA_BITS, raw & (_HIDDEN_BIT - 1)
    if exponent:
        return mantissa | _HIDDEN_BIT, exponent - 1023, _MANTISSA_BITS + 1
    shift = _MANTISSA_BITS + 1 - mantissa.bit_length()
    return mantissa << shift, 1 - shift - 1023, mantissa.bit_length()


def _whole_digits(mantissa: int, exponent: int, precision: int) -> tuple[str, int]:
    """Of a whole number: its digits, without those that say nothing because the number is not that exact."""
    whole = mantissa << (exponent - _MANTISSA_BITS) if exponent >= _MANTISSA_BITS else mantissa >> (52 - exponent)
    dropped = _digits_of_power(exponent - precision - 1) if exponent > precision else 0
    rounded, rest = divmod(whole, 10**dropped)
    if dropped and rest >= 10**dropped // 2:
        rounded += 1
    text = str(rounded)
    return text.rstrip("0"), len(text) - 1 + dropped


def _digits_of_power(power: int) -> int:
    """How many decimal digits fit into so many bits."""
    return int(power * math.log10(2)) if power > 1 else 0


def _estimate(mantissa: int, exponent: int) -> int:
    """The power of ten of the first digit, or one too many."""
    scaled = mantissa / _HIDDEN_BIT
    return math.floor((scaled - 1.5) * 0.289529654 + 0.176091259 + exponent * 0.301029995663981)


def _bits_of_five(power: int) -> int:
    """Java's estimate of the bits of a power of five."""
    return (5**power).bit_length() if 0 < power < 27 else power * 3


class _Generation:
    """Digits one after another, until those that follow make no difference to which number is read back."""

    def __init__(
        self, mantissa: int, exponent: int, bits: int, fraction_bits: int, precision: int, estimate: int
    ) -> None:
        self._decimal = estimate
        five, two = max(0, -estimate), 0
        numerator_twos = five + fraction_bits + exponent
        denominator_fives = max(0, estimate)
        denominator_twos = denominator_fives + fraction_bits
        half_twos = numerator_twos - precision
        numerator_twos -= bits - 1
        two = min(numerator_twos, denominator_twos)
        numerator_twos, denominator_twos, half_twos = numerator_twos - two, denominator_twos - two, half_twos - two
        if bits == 1:
            # Below a power of two numbers stand closer.
            half_twos -= 1
        if half_twos < 0:
            numerator_twos, denominator_twos, half_twos = numerator_twos - half_twos, denominator_twos - half_twos, 0
        bits_needed = max(
            bits + numerator_twos + _bits_of_five(five), denominator_twos + 1 + _bits_of_five(denominator_fives + 1)
        )
        self._width = 32 if bits_needed < 32 else 64 if bits_needed < 64 else None
        self._rest = mantissa * 5**five << numerator_twos
        self._unit = 5**denominator_fives << denominator_twos
        self._half = 5**five << half_twos
        self._digits: list[int] = []

    def run(self) -> tuple[str, int]:
        """The digits, and the power of ten of the first one."""
        first, is_low, is_high = self._next()
        if first == 0 and not is_high:
            self._decimal -= 1
        else:
            self._digits.append(first)
        if not -3 <= self._decimal < 8:
            # In the form with an exponent there are always two digits.
            is_low = is_high = False
        while not is_low and not is_high:
            digit, is_low, is_high = self._next()
            self._digits.append(digit)
        if is_high and (not is_low or self._is_rounded_up()):
            self._round_up()
        text = "".join(map(str, self._digits))
        return text.rstrip("0") or "0", self._decimal

    def _next(self) -> tuple[int, bool, bool]:
        """The next digit, and whether it, or the one above it, is as good as any that could follow."""
        digit, rest = divmod(self._rest, self._unit)
        self._rest, self._half = rest * 10, self._wrapped(self._half * 10)
        if self._half <= 0:
            return digit, True, True
        excess = self._wrapped(self._rest + self._half) - self._unit * 10
        # Where Java's numbers are of any size, it asks for "at least" instead of "more than".
        return digit, self._rest < self._half, excess > 0 or (excess == 0 and self._width is None)

    def _wrapped(self, number: int) -> int:
        """The number as Java has it, which has a certain width while that lasts, and overflows."""
        if self._width is None:
            return number
        limit = 1 << (self._width - 1)
        return (number + limit) % (limit * 2) - limit

    def _is_rounded_up(self) -> bool:
        difference = self._rest * 2 - self._unit * 10
        return difference > 0 or (difference == 0 and self._digits[-1] % 2 == 1)

    def _round_up(self) -> None:
        at = len(self._digits) - 1
        while at > 0 and self._digits[at] == 9:
            self._digits[at] = 0
            at -= 1
        if self._digits[at] == 9:
            self._digits = [1] + [0] * at
            self._decimal += 1
        else:
            self._digits[at] += 1
