"""What generated code calls: Java's arithmetic on decimals, and the rest that is no single expression in Python."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from functools import lru_cache, partial
from typing import Any, NoReturn

from headrace.sql.tree.types import Decimal as DecimalType
from headrace.sql.types.numbers import at_scale

_TRAPS: list[Any] = [Inexact, InvalidOperation, DivisionByZero, Overflow]
_ROOM = Context(prec=10_000, traps=_TRAPS)
"""For results between that are exact, however long they are."""
_SAME_LINE = "[^\n\r\x85\u2028\u2029]"


class NullOperand(TypeError):
    """An operator that takes no null met one."""


def null_operand() -> NoReturn:
    """Fail as Java does on a null that it must look into."""
    raise NullOperand("an operand is null")


def truth(value: bool | None) -> bool:
    """The value of a condition, which must not be null."""
    if value is None:
        null_operand()
    return value


def present(value: Any) -> Any:
    """The value, which must not be null."""
    return null_operand() if value is None else value


def joined(left: str | None, right: str | None) -> str:
    """``+`` of texts: a null is written out."""
    return f"{'null' if left is None else left}{'null' if right is None else right}"


def decimal_operation(operator: str, type_: DecimalType) -> Callable[[Any, Any], Decimal]:
    """An operation whose exact result must fit the type; where digits would be lost, it fails."""
    context = Context(prec=type_.precision, traps=_TRAPS)
    operations: dict[str, Callable[[Any, Any], Decimal]] = {
        "+": context.add,
        "-": context.subtract,
        "*": context.multiply,
        "/": context.divide,
        "%": partial(_decimal_remainder, type_.precision),
    }
    operation, scale = operations[operator], type_.scale

    def operate(left: Any, right: Any) -> Decimal:
        found = at_scale(operation(left, right), scale)
        return found or found.copy_abs()

    return operate


def _decimal_remainder(precision: int, left: Decimal, right: Decimal) -> Decimal:
    """What is left of a whole number of times ``right``; that number has at most so many digits before its zeros."""
    times = _ROOM.divide_int(left, right)
    if len(times.normalize(_ROOM).as_tuple().digits) > precision:
        message = f"{left} % {right} needs more than {precision} digits"
        raise ArithmeticError(message)
    return _ROOM.subtract(left, _ROOM.multiply(times, right))


def negative(value: Decimal) -> Decimal:
    """The opposite number; Java has no negative zero among decimals."""
    return value.copy_negate() if present(value) else value


def exact(value: float) -> Decimal:
    """A DOUBLE as the DECIMAL that its text says; NaN and infinities are none."""
    if not math.isfinite(value):
        message = f"{value} is no DECIMAL"
        raise ValueError(message)
    return Decimal(repr(value))


_SIGNED = bytes(byte ^ 0x80 for byte in range(256))


def signed(value: bytes) -> bytes:
    """A key that sorts bytes as Java does, to which they are numbers from -128 to 127."""
    return value.translate(_SIGNED)


def item_at(items: list[Any], index: Any) -> Any:
    """An element by its number, from 1 or from the end; null where there is none."""
    at = int(index) - 1 if index >= 0 else len(items) + int(index)
    return items[at] if 0 <= at < len(items) else None


@lru_cache(maxsize=256)
def like(pattern: str, escape: str | None = None) -> Callable[[str], Any]:
    """A test of texts; a pattern that ends with the escape character fails."""
    parts, literal = [], False
    for character in pattern:
        if literal:
            parts.append(re.escape(character))
            literal = False
        elif character == escape:
            literal = True
        else:
            parts.append({"%": f"{_SAME_LINE}*", "_": _SAME_LINE}.get(character) or re.escape(character))
    if literal:
        message = f"the pattern {pattern!r} ends with its escape character"
        raise ValueError(message)
    return re.compile("".join(parts)).fullmatch
