"""Signatures of functions, read from text such as ``(ARRAY<T> list, T item) -> BOOLEAN``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.sql.errors import SqlError
from headrace.sql.functions.patterns import (
    ANY,
    ANY_DECIMAL,
    ANY_STRUCT,
    INTERVAL_UNIT,
    ArrayPattern,
    Generic,
    LambdaPattern,
    MapPattern,
    Pattern,
    StructPattern,
    has_generics,
)
from headrace.sql.text.cursor import Cursor
from headrace.sql.text.tokens import END, NAME
from headrace.sql.text.types import type_
from headrace.sql.tree.types import BY_NAME, Decimal

_GENERIC = re.compile("[A-Z][0-9]?")
_WORDS = {"ANY": ANY, "INTERVALUNIT": INTERVAL_UNIT, "STRUCT": ANY_STRUCT}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; ``is_const`` marks a literal that an aggregate is made with."""

    pattern: Pattern
    name: str = ""
    is_variadic: bool = False
    is_const: bool = False

    def __str__(self) -> str:
        dots = "..." if self.is_variadic else ""
        return f"{self.pattern}{dots}{' ' if self.name else ''}{self.name}"


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters, of which one may be variadic, and a result."""

    parameters: tuple[Parameter, ...]
    result: Pattern

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parameters))}) -> {self.result}"

    @property
    def variadic_at(self) -> int:
        """Where the variadic parameter is, or -1."""
        return next((at for at, parameter in enumerate(self.parameters) if parameter.is_variadic), -1)

    @property
    def preference(self) -> tuple[bool, int, int, bool, int]:
        """Of several overloads that fit the greatest wins; two equal ones are ambiguous."""
        open_ = [p for p in self.parameters if has_generics(p.pattern) or _takes_anything(p)]
        return (
            self.variadic_at < 0,
            len(self.parameters),
            -len(open_),
            not any(map(_takes_anything, self.parameters)),
            self.variadic_at,
        )

    def spread(self, count: int) -> Iterator[tuple[tuple[Pattern, ...], tuple[Pattern, ...]]]:
        """What ``count`` arguments must fit, in each way in which they can be given, and what they are then cast to."""
        at, patterns = self.variadic_at, tuple(parameter.pattern for parameter in self.parameters)
        if at < 0:
            if count == len(patterns):
                yield patterns, patterns
            return
        repeated = count - len(patterns) + 1
        if repeated < 0:
            return
        single = (*patterns[:at], *[patterns[at]] * repeated, *patterns[at + 1 :])
        yield single, single
        # An array may stand where one argument of a variadic parameter at an end does, and is cast to what that is. It
        # is a second way to read the same call, so a NULL there is ambiguous. Both are so in ksqlDB.
        if repeated == 1 and at in (0, len(patterns) - 1):
            yield (*patterns[:at], ArrayPattern(patterns[at]), *patterns[at + 1 :]), single


def _takes_anything(parameter: Parameter) -> bool:
    return parameter.is_variadic and parameter.pattern == ANY


def signature(text: str) -> Signature:
    """The signature that ``text`` says. A mistake in it is an ``SqlError`` that shows where.

    >>> str(signature("(STRING text, INTEGER...) -> ARRAY<STRING>"))
    '(STRING text, INTEGER...) -> ARRAY<STRING>'
    """
    cursor = Cursor(text)
    cursor.expect("(")
    parameters = () if cursor.kind == ")" else cursor.listed(lambda: _parameter(cursor))
    cursor.expect(")", "->")
    result = _pattern(cursor)
    cursor.expect(END)
    if sum(parameter.is_variadic for parameter in parameters) > 1:
        raise SqlError("function.signature", f"{text} has more than one variadic parameter")
    return Signature(parameters, result)


def pattern(text: str) -> Pattern:
    """A type as signatures write it."""
    cursor = Cursor(text)
    found = _pattern(cursor)
    cursor.expect(END)
    return found


def _parameter(cursor: Cursor) -> Parameter:
    found = _pattern(cursor)
    is_variadic = cursor.accept(".", ".", ".")
    name = "" if _is_const(cursor) else _name(cursor)
    is_const = _is_const(cursor)
    if is_const:
        cursor.take()
    return Parameter(found, name, is_variadic, is_const)


def _is_const(cursor: Cursor) -> bool:
    return cursor.kind == NAME and cursor.token.text == "const"


def _name(cursor: Cursor) -> str:
    """The name of a parameter as it is written; a reserved word is as good as any."""
    return "" if cursor.kind in {",", ")"} else cursor.take().text


def _pattern(cursor: Cursor) -> Pattern:
    if cursor.kind == "(":
        parameters = cursor.in_parentheses(lambda: _pattern(cursor))
        cursor.expect("=>")
        return LambdaPattern(parameters, _pattern(cursor))
    if cursor.kind == "DECIMAL" and cursor.ahead(1) != "(":
        cursor.take()
        return ANY_DECIMAL
    if cursor.accept("ARRAY", "<"):
        return ArrayPattern(_closed(cursor, _pattern(cursor)))
    if cursor.accept("MAP", "<"):
        key = _pattern(cursor)
        cursor.expect(",")
        return MapPattern(key, _closed(cursor, _pattern(cursor)))
    if cursor.accept("STRUCT", "<"):
        fields = cursor.listed(lambda: (cursor.name("a field"), _pattern(cursor)))
        cursor.expect(">")
        return StructPattern(fields)
    return _simple(cursor)


def _closed(cursor: Cursor, found: Pattern) -> Pattern:
    cursor.expect(">")
    return found


def _simple(cursor: Cursor) -> Pattern:
    at, word = cursor.at, cursor.token.text
    if word in _WORDS:
        cursor.take()
        return _WORDS[word]
    if _GENERIC.fullmatch(word):
        cursor.take()
        return Generic(word)
    found = type_(cursor)
    if found in BY_NAME.values() or isinstance(found, Decimal):
        return found  # type: ignore[return-value]
    raise cursor.error_from(at, f"{word} is no type of a parameter", code="function.signature")
