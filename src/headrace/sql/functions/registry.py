"""Names to functions: which are known, and which overload a call means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from headrace.near_names import did_you_mean
from headrace.sql.errors import SqlError
from headrace.sql.functions.checking import check_callable
from headrace.sql.functions.declare import Kind, Overload, declared_in
from headrace.sql.functions.patterns import (
    Argument,
    Generics,
    LambdaShape,
    LambdaType,
    Pattern,
    UnitArgument,
    fits,
    resolved,
)
from headrace.sql.tree.types import SqlType


@dataclass(frozen=True, slots=True)
class Choice:
    """The overload that a call means, and what each argument must fit."""

    overload: Overload
    patterns: tuple[Pattern, ...]
    arguments: tuple[Argument, ...]
    generics: Generics = field(default_factory=dict)

    @property
    def types(self) -> tuple[SqlType | None, ...]:
        """The types of arguments; lambdas and units have none."""
        return tuple(
            None if isinstance(argument, LambdaShape | LambdaType | UnitArgument) else argument
            for argument in self.arguments
        )

    @property
    def init_count(self) -> int:
        """How many of the last arguments an aggregate is made with."""
        parameters = self.overload.signature.parameters
        const = [parameter for parameter in parameters if parameter.is_const]
        is_variadic = any(parameter.is_variadic for parameter in const)
        return len(self.arguments) - (len(parameters) - len(const)) if is_variadic else len(const)

    @property
    def result(self) -> SqlType:
        """The type of what it returns; ``Unresolved`` where nothing says it."""
        if self.overload.returns is not None:
            return self.overload.returns(self.types)
        return resolved(self.overload.signature.result, self.generics)

    @property
    def stored_type(self) -> SqlType:
        """The type of the state of an aggregate."""
        stored = self.overload.stored_as
        assert stored is not None
        return stored(self.types) if callable(stored) else resolved(stored, self.generics)


_ELSEWHERE = {
    "UPPER": "UCASE",
    "LOWER": "LCASE",
    "LENGTH": "LEN",
    "CHAR_LENGTH": "LEN",
    "SUBSTR": "SUBSTRING",
    "STRPOS": "INSTR",
    "CEILING": "CEIL",
    "POW": "POWER",
    "NVL": "IFNULL",
    "ISNULL": "IFNULL",
    "NOW": "UNIX_TIMESTAMP",
    "ARRAY_AGG": "COLLECT_LIST",
    "CARDINALITY": "ARRAY_LENGTH",
    "UNNEST": "EXPLODE",
    "STDDEV": "STDDEV_SAMP",
}
"""Functions under the names that other dialects give them."""


class Registry:
    """The functions that statements may call."""

    def __init__(self, overloads: Iterable[Overload] = ()) -> None:
        self._by_name: dict[str, list[Overload]] = {}
        for overload in overloads:
            self._add(overload)

    def _add(self, overload: Overload) -> None:
        known = self._by_name.setdefault(overload.name, [])
        if known and known[0].kind is not overload.kind:
            message = f"{overload.name} is {known[0].kind.value} already, and cannot be {overload.kind.value}, too"
            raise SqlError("function.kind", message)
        # One module may import what another one declares, and a cell of a notebook be run again.
        known[:] = [each for each in known if _parameters(each) != _parameters(overload)]
        known.append(overload)

    def extended(self, *declared: ModuleType | Callable[..., Any]) -> Registry:
        """A registry with these functions of users and those of these modules, too.

        They see structs as dicts. A name has functions of one kind only; of two with the same parameters the later one
        counts. What declares no function, or one that could not be called, is an error.
        """
        more = [
            replace(overload, is_plain=not overload.is_typed)
            for source in declared
            for overload in _declared_by_user(source)
        ]
        return Registry([*self, *more])

    def __iter__(self) -> Iterator[Overload]:
        return (overload for overloads in self._by_name.values() for overload in overloads)

    def overloads(self, name: str) -> Sequence[Overload]:
        """All ways to call ``name``; none where it is not known."""
        return self._by_name.get(name.upper(), ())

    @property
    def names(self) -> Mapping[str, Kind]:
        """All functions by their names, in their order."""
        return {name: self._by_name[name][0].kind for name in sorted(self._by_name)}

    def kind(self, name: str, at: int | None = None) -> Kind:
        """What ``name`` is. A name that is not known is a ``name.function`` error."""
        overloads = self.overloads(name)
        if overloads:
            return overloads[0].kind
        ours = _ELSEWHERE.get(name.upper())
        near = did_you_mean(name.upper(), self._by_name, shown=str) if ours is None else f"Here it is {ours}."
        hint = near or "SHOW FUNCTIONS lists all there are."
        raise SqlError("name.function", f"there is no function `{name}`", hint=hint, offset=at)

    def choose(self, name: str, arguments: Sequence[Argument], at: int | None = None) -> Choice:
        """The overload that fits: without casts if there is one, else with implicit casts (not for aggregates).

        ``call.no-overload`` where none fits, ``call.ambiguous`` where several fit equally well.
        """
        kind = self.kind(name, at)
        overloads = self.overloads(name)
        for with_casts in (False, True) if kind is not Kind.AGGREGATE else (False,):
            found = _fitting(overloads, arguments, with_casts)
            if len(found) > 1 and _rank(found[0]) == _rank(found[1]):
                raise _error("call.ambiguous", "fits several overloads equally well", name, arguments, overloads, at)
            if found:
                return found[0]
        raise _error("call.no-overload", "has no overload for these arguments", name, arguments, overloads, at)


def declared_by(*sources: ModuleType | Callable[..., Any]) -> Iterator[Overload]:
    """What functions, classes and modules declare."""
    for source in sources:
        yield from declared_in(vars(source) if isinstance(source, ModuleType) else {"": source})


def _declared_by_user(source: ModuleType | Callable[..., Any]) -> list[Overload]:
    found = list(declared_by(source))
    if not found:
        message = f"{getattr(source, '__qualname__', None) or source!r} declares no function of SQL"
        hint = 'Put @scalar("NAME"), @table("NAME") or @aggregate("NAME") above it.'
        raise SqlError("function.signature", message, hint=hint)
    for overload in found:
        check_callable(overload)
    return found


def _parameters(overload: Overload) -> list[tuple[Pattern, bool]]:
    return [(each.pattern, each.is_variadic) for each in overload.signature.parameters]


def _fitting(overloads: Iterable[Overload], arguments: Sequence[Argument], with_casts: bool) -> list[Choice]:
    found = []
    for overload in overloads:
        for wanted, patterns in overload.signature.spread(len(arguments)):
            generics: Generics = {}
            if all(
                fits(pattern, argument, generics, with_casts=with_casts)
                for pattern, argument in zip(wanted, arguments, strict=True)
            ):
                found.append(Choice(overload, patterns, tuple(arguments), generics))
    return sorted(found, key=_rank, reverse=True)


def _rank(choice: Choice) -> tuple[bool, int, int, bool, int]:
    return choice.overload.signature.preference


def _error(
    code: str, what: str, name: str, arguments: Sequence[Argument], overloads: Iterable[Overload], at: int | None
) -> SqlError:
    shown = ", ".join("NULL" if argument is None else str(argument) for argument in arguments)
    listed = "\n".join(f"  {name}{overload.signature}" for overload in overloads)
    return SqlError(
        code,
        f"`{name}`({shown}) {what}",
        detail=f"{name} can be called as\n{listed}",
        hint="CAST makes an argument the type that is wanted.",
        offset=at,
    )
