"""Values as functions of users see them, and what they return as values of SQL.

Structs are dicts by the names of their fields; inside they are tuples. What is returned is checked: a value of another
type is a failure of the function, and not of whoever writes it down later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal as Number
from typing import Any, TypeAlias

from headrace.sql.functions.patterns import Argument, LambdaType
from headrace.sql.tree.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    SqlType,
    Struct,
)
from headrace.sql.types.numbers import fitting

Change: TypeAlias = Callable[[Any], Any]


def has_structs(type_: Argument) -> bool:
    """Whether there is a struct in it."""
    match type_:
        case Struct():
            return True
        case Array(item):
            return has_structs(item)
        case Map(key, value):
            return has_structs(key) or has_structs(value)
        case LambdaType(parameters, result):
            return any(map(has_structs, (*parameters, result)))
    return False


def to_plain(type_: SqlType | None) -> Change:
    """What makes dicts of the structs in a value.

    >>> from headrace.sql.tree.types import Field
    >>> to_plain(Array(Struct((Field("A", INTEGER),))))([(1,), None])
    [{'A': 1}, None]
    """
    match type_:
        case Struct(fields):
            return _unless_null(_as_dict, type_, tuple(to_plain(field.type) for field in fields))
        case Array(item) if has_structs(item):
            return _unless_null(_each, to_plain(item))
        case Map(_, value) if has_structs(value):
            return _unless_null(_values, to_plain(value))
    return lambda value: value


def from_plain(type_: SqlType | None) -> Change:
    """What makes values of SQL of what a function returned; a TypeError or ValueError where it is of another type.

    Dicts become structs, what they leave out is null. Whole numbers are good for DOUBLE and DECIMAL.
    """
    match type_:
        case Struct(fields):
            return _unless_null(_as_tuple, type_, tuple(from_plain(field.type) for field in fields))
        case Array(item):
            return _unless_null(_listed, type_, from_plain(item))
        case Map(key, value):
            return _unless_null(_mapped, type_, from_plain(key), from_plain(value))
        case Decimal():
            return _unless_null(_decimal, type_)
    if type_ in _BITS:
        return _unless_null(_whole, type_, _BITS[type_])
    if type_ == DOUBLE:
        return _unless_null(_double)
    return lambda value: value if type_ is None or value is None else _checked(type_, _CLASSES[type_], value)


_BITS: dict[SqlType | None, int] = {INTEGER: 31, BIGINT: 63, DATE: 31, TIME: 31, TIMESTAMP: 63}
_CLASSES: dict[SqlType, type] = {BOOLEAN: bool, STRING: str, BYTES: bytes}


def _unless_null(change: Callable[..., Any], *given: Any) -> Change:
    return lambda value: None if value is None else change(*given, value)


def _checked(type_: SqlType, wanted: type | tuple[type, ...], value: Any) -> Any:
    if not isinstance(value, wanted):
        message = f"the function returned {value!r}, which is no {type_}"
        raise TypeError(message)
    return value


def _whole(type_: SqlType, bits: int, value: Any) -> int:
    if isinstance(value, bool) or not -(1 << bits) <= _checked(type_, int, value) < 1 << bits:
        message = f"the function returned {value!r}, which is no {type_}"
        raise ValueError(message)
    return int(value)


def _double(value: Any) -> float:
    return float(_checked(DOUBLE, (int, float), value))


def _decimal(type_: Decimal, value: Any) -> Number:
    return fitting(Number(_checked(type_, (int, Number), value)), type_)


def _listed(type_: SqlType, change: Change, value: Any) -> list[Any]:
    return [change(part) for part in _checked(type_, (list, tuple), value)]


def _mapped(type_: SqlType, change_key: Change, change: Change, value: Any) -> dict[Any, Any]:
    return {change_key(key): change(part) for key, part in _checked(type_, Mapping, value).items()}


def _each(change: Change, values: list[Any]) -> list[Any]:
    return [change(value) for value in values]


def _values(change: Change, entries: dict[Any, Any]) -> dict[Any, Any]:
    return {key: change(value) for key, value in entries.items()}


def _as_dict(type_: Struct, changes: tuple[Change, ...], value: tuple[Any, ...]) -> dict[str, Any]:
    return {field.name: change(part) for field, change, part in zip(type_.fields, changes, value, strict=True)}


def _as_tuple(type_: Struct, changes: tuple[Change, ...], value: Any) -> tuple[Any, ...]:
    if isinstance(value, tuple):
        return tuple(change(part) for change, part in zip(changes, value, strict=True))
    _checked(type_, Mapping, value)
    names = {field.name for field in type_.fields}
    if not value.keys() <= names:
        message = f"{type_} has no field {', '.join(map(str, value.keys() - names))}"
        raise ValueError(message)
    return tuple(change(value.get(field.name)) for field, change in zip(type_.fields, changes, strict=True))


def plain_function(body: Callable[..., Any], arguments: tuple[Argument, ...], result: SqlType) -> Callable[..., Any]:
    """The function of a user as one of values: it gets dicts, and may return them."""
    changes = [_plain_lambda(each) if isinstance(each, LambdaType) else to_plain(each) for each in arguments]  # type: ignore[arg-type]
    back = from_plain(result)
    return lambda *values: back(body(*[change(value) for change, value in zip(changes, values, strict=True)]))


def _plain_lambda(type_: LambdaType) -> Change:
    parameters, result = [from_plain(each) for each in type_.parameters], to_plain(type_.result)

    def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: result(function(*[change(one) for change, one in zip(parameters, given, strict=True)]))

    return wrapped


class PlainAggregate:
    """The aggregate of a user as one of values: what it gets and gives are dicts where SQL has structs."""

    def __init__(self, function: Any, arguments: tuple[SqlType | None, ...], stored: SqlType, result: SqlType) -> None:
        self._given = (function, arguments, stored, result)
        self._function = function
        self._arguments = [to_plain(each) for each in arguments]
        self._read, self._write, self._result = to_plain(stored), from_plain(stored), from_plain(result)
        if hasattr(function, "undo"):
            self.undo = self._undo

    def __reduce__(self) -> tuple[Any, ...]:
        return PlainAggregate, self._given

    def initial(self) -> Any:
        """The state before any row."""
        return self._write(self._function.initial())

    def add(self, value: Any, state: Any) -> Any:
        """The state with one more value."""
        return self._write(self._function.add(self._plain(value), self._read(state)))

    def merge(self, left: Any, right: Any) -> Any:
        """Of two states."""
        return self._write(self._function.merge(self._read(left), self._read(right)))

    def result(self, state: Any) -> Any:
        """What a state comes to."""
        of_state = getattr(self._function, "result", None)
        return self._result(self._read(state) if of_state is None else of_state(self._read(state)))

    def _undo(self, value: Any, state: Any) -> Any:
        return self._write(self._function.undo(self._plain(value), self._read(state)))

    def _plain(self, value: Any) -> Any:
        if len(self._arguments) == 1:
            return self._arguments[0](value)
        return tuple(change(part) for change, part in zip(self._arguments, value, strict=True))
