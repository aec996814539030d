"""Values of SQL as Python has them, for programs: a DATE is a date, a STRUCT a dict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

from headrace.sql.answers import converted
from headrace.sql.schema import Column
from headrace.sql.tree import types as t
from headrace.sql.tree.types import SqlType

_EPOCH_DAY = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def python_row(row: Sequence[Any], columns: Sequence[Column]) -> tuple[Any, ...]:
    """The values of a row.

    >>> python_row([0, (1, "a")], [Column("D", t.DATE), Column("S", t.Struct((t.Field("X", t.INTEGER),
    ...     t.Field("Y", t.STRING))))])
    (datetime.date(1970, 1, 1), {'X': 1, 'Y': 'a'})
    """
    return tuple(python_value(value, column.type) for value, column in zip(row, columns, strict=True))


def python_value(value: Any, type_: SqlType) -> Any:
    """One value. A time that Python cannot say stays a number."""
    return converted(value, type_, _TIMES)


def _time(make: Callable[[int], Any]) -> Callable[[int], Any]:
    def made(value: int) -> Any:
        try:
            return make(value)
        except OverflowError:
            return value

    return made


_TIMES: dict[SqlType, Callable[[int], Any]] = {
    t.DATE: _time(lambda days: _EPOCH_DAY + timedelta(days=days)),
    t.TIME: _time(lambda ms: (datetime.combine(_EPOCH_DAY, time()) + timedelta(milliseconds=ms)).time()),
    t.TIMESTAMP: _time(lambda ms: _EPOCH + timedelta(milliseconds=ms)),
}
