"""Literals that take the type of the column that they are inserted into."""

from __future__ import annotations

from dataclasses import replace
from decimal import ROUND_HALF_UP, Context, Decimal

from headrace.sql.schema import Column, Schema
from headrace.sql.tree import types as t
from headrace.sql.tree.expressions import DecimalLiteral, DoubleLiteral, Expression, IntegerLiteral, LongLiteral
from headrace.sql.types.java_text import double_text


def as_target(expression: Expression, target: Schema | None, position: int) -> Expression:
    """A number for a DECIMAL column is one of its digits, if it fits; everything else stays."""
    if target is None or position >= len(target.columns):
        return expression
    type_ = target.columns[position].type
    if not isinstance(type_, t.Decimal) or (value := _value(expression)) is None:
        return expression
    if not fits(_type_of(value), type_):
        return expression
    digits = value.quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP, Context(prec=max(type_.precision, 1)))
    return DecimalLiteral(digits, at=expression.at)


def fits(given: t.SqlType, wanted: t.SqlType) -> bool:
    """Whether a value goes into such a column as it is: equal types, or decimals with no more digits on a side."""
    if isinstance(given, t.Decimal) and isinstance(wanted, t.Decimal):
        return given.scale <= wanted.scale and given.precision - given.scale <= wanted.precision - wanted.scale
    return given == wanted


def fits_columns(given: Schema, wanted: Schema) -> bool:
    """Whether rows of one schema go into the other: the same columns in the same order, of types that fit."""
    if len(given.columns) != len(wanted.columns):
        return False
    return all(
        _untyped(ours) == _untyped(theirs) and fits(ours.type, theirs.type)
        for ours, theirs in zip(given.columns, wanted.columns, strict=True)
    )


def _untyped(column: Column) -> Column:
    return replace(column, type=t.STRING)


def _value(expression: Expression) -> Decimal | None:
    match expression:
        case IntegerLiteral(value) | LongLiteral(value) | DecimalLiteral(value):
            return Decimal(value)
        case DoubleLiteral(value):
            return Decimal(double_text(value))
        case _:
            return None


def _type_of(value: Decimal) -> t.Decimal:
    """Digits of a value; one between -1 and 1 has a zero before the point that counts."""
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(0, int(exponent)), scale + (1 if value.copy_abs() < 1 else 0))
    return t.Decimal(precision, scale)
