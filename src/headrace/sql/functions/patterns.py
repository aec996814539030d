"""What a parameter of a function accepts: types, generics, lambdas; and how arguments are matched with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from headrace.sql.tree.types import Array, Decimal, Field, Map, Primitive, SqlType, Struct
from headrace.sql.types.coercion import casts_implicitly


@dataclass(frozen=True, slots=True)
class Generic:
    """Any type, the same one wherever the name stands."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Word:
    """DECIMAL and STRUCT of any kind, ANY type at all, INTERVALUNIT."""

    name: str

    def __str__(self) -> str:
        return self.name


ANY, ANY_DECIMAL, ANY_STRUCT, INTERVAL_UNIT = map(Word, ("ANY", "DECIMAL", "STRUCT", "INTERVALUNIT"))


@dataclass(frozen=True, slots=True)
class ArrayPattern:
    """An array of what ``item`` accepts."""

    item: Pattern

    def __str__(self) -> str:
        return f"ARRAY<{self.item}>"


@dataclass(frozen=True, slots=True)
class MapPattern:
    """A map of what ``key`` and ``value`` accept."""

    key: Pattern
    value: Pattern

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class StructPattern:
    """A struct of exactly these fields, in any order."""

    fields: tuple[tuple[str, Pattern], ...]

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(f'{name} {pattern}' for name, pattern in self.fields)}>"


@dataclass(frozen=True, slots=True)
class LambdaPattern:
    """A lambda of as many parameters."""

    parameters: tuple[Pattern, ...]
    result: Pattern

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parameters))}) => {self.result}"


Pattern: TypeAlias = Primitive | Decimal | Generic | Word | ArrayPattern | MapPattern | StructPattern | LambdaPattern


@dataclass(frozen=True, slots=True)
class LambdaShape:
    """A lambda as an argument whose types are not known yet."""

    count: int

    def __str__(self) -> str:
        return f"LAMBDA({', '.join(['?'] * self.count)})"


@dataclass(frozen=True, slots=True)
class LambdaType:
    """A lambda as an argument."""

    parameters: tuple[SqlType | None, ...]
    result: SqlType | None

    def __str__(self) -> str:
        return f"LAMBDA ({', '.join(map(str, self.parameters))}) => {self.result}"


@dataclass(frozen=True, slots=True)
class UnitArgument:
    """A unit of time as an argument."""

    def __str__(self) -> str:
        return "INTERVALUNIT"


Argument: TypeAlias = SqlType | LambdaShape | LambdaType | UnitArgument | None
"""What stands in a call; None is NULL, which fits every parameter."""
Generics: TypeAlias = dict[str, SqlType | None]


def generics_of(pattern: Pattern) -> Iterator[str]:
    """The names of generics in it."""
    match pattern:
        case Generic(name):
            yield name
        case ArrayPattern(item):
            yield from generics_of(item)
        case MapPattern(key, value):
            yield from generics_of(key)
            yield from generics_of(value)
        case StructPattern(fields):
            for _, field in fields:
                yield from generics_of(field)
        case LambdaPattern(parameters, result):
            for part in (*parameters, result):
                yield from generics_of(part)


def has_generics(pattern: Pattern) -> bool:
    """Whether there is a generic in it."""
    return any(True for _ in generics_of(pattern))


def fits(pattern: Pattern, argument: Argument, generics: Generics, *, with_casts: bool) -> bool:
    """Whether an argument is accepted. What generics stand for is read from and added to ``generics``.

    A parameter with generics takes no implicit casts: what a generic stands for is exactly one type.
    """
    if argument is None:
        return True
    if has_generics(pattern):
        return _fits_generic(pattern, argument, generics)
    return _fits_plain(pattern, argument, with_casts)


def _fits_generic(pattern: Pattern, argument: Argument, generics: Generics) -> bool:
    match pattern, argument:
        case LambdaPattern(parameters, _), LambdaShape(count):
            return len(parameters) == count
        case LambdaPattern(parameters, result), LambdaType(types, found):
            pairs = zip((*parameters, result), (*types, found), strict=False)
            return len(parameters) == len(types) and all(_fits_generic(*pair, generics) for pair in pairs)
        case (LambdaPattern(), _) | (_, LambdaShape() | LambdaType() | UnitArgument()):
            return False
        case Generic(name), _:
            return argument is None or _reserve(generics, name, argument)
        case ArrayPattern(item), Array(found):
            return _fits_generic(item, found, generics)
        case MapPattern(key, value), Map(found_key, found_value):
            return _fits_generic(key, found_key, generics) and _fits_generic(value, found_value, generics)
        case _:
            return not has_generics(pattern) and _fits_plain(pattern, argument, with_casts=False)


def _reserve(generics: Generics, name: str, type_: SqlType | LambdaShape | LambdaType | UnitArgument) -> bool:
    assert not isinstance(type_, LambdaShape | LambdaType | UnitArgument)
    return generics.setdefault(name, type_) == type_


def _fits_plain(pattern: Pattern, argument: Argument, with_casts: bool) -> bool:
    match pattern, argument:
        case Word("ANY"), _:
            return True
        case LambdaPattern(parameters, _), LambdaShape(count):
            return len(parameters) == count
        case LambdaPattern(parameters, result), LambdaType(types, found):
            pairs = zip((*parameters, result), (*types, found), strict=False)
            return len(parameters) == len(types) and all(_fits_plain(*pair, with_casts) for pair in pairs)
        case (LambdaPattern(), _) | (_, LambdaShape() | LambdaType()):
            return False
        case (Word("INTERVALUNIT"), _) | (_, UnitArgument()):
            return pattern == INTERVAL_UNIT and isinstance(argument, UnitArgument)
        case _, None:
            return True
        case ArrayPattern(item), Array(found):
            return _fits_plain(item, found, with_casts)
        case MapPattern(key, value), Map(found_key, found_value):
            return _fits_plain(key, found_key, with_casts) and _fits_plain(value, found_value, with_casts)
        case (Word("STRUCT"), Struct()) | (StructPattern(()), Struct()) | (StructPattern(), Struct(())):
            return True
        case StructPattern(fields), Struct(found_fields):
            return _fits_struct(dict(fields), {field.name: field.type for field in found_fields})
        case Word("DECIMAL"), Decimal():
            return True
        case _:
            return _same_kind(pattern, argument) or (with_casts and casts_implicitly(argument, _kind(pattern)))


def _fits_struct(wanted: dict[str, Pattern], found: dict[str, SqlType]) -> bool:
    return wanted.keys() == found.keys() and all(
        _fits_plain(pattern, found[name], with_casts=False) for name, pattern in wanted.items()
    )


def _same_kind(pattern: Pattern, argument: Argument) -> bool:
    return isinstance(pattern, Primitive) and pattern == argument


def _kind(pattern: Pattern) -> str | None:
    """The name of the kind of type that implicit casts look at."""
    match pattern:
        case Primitive(name) | Word(name):
            return name
        case Decimal():
            return "DECIMAL"
        case _:
            return None


class Unresolved(Exception):
    """A generic that no argument decides."""


def resolved(pattern: Pattern, generics: Mapping[str, SqlType | None]) -> SqlType:
    """The type that a pattern stands for. ``Unresolved`` where it stands for none."""
    match pattern:
        case Generic(name):
            found = generics.get(name)
            if found is None:
                raise Unresolved(name)
            return found
        case ArrayPattern(item):
            return Array(resolved(item, generics))
        case MapPattern(key, value):
            return Map(resolved(key, generics), resolved(value, generics))
        case StructPattern(fields):
            return Struct(tuple(Field(name, resolved(field, generics)) for name, field in fields))
        case Primitive() | Decimal():
            return pattern
        case _:
            raise Unresolved(str(pattern))
