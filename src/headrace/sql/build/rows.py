"""What happens to rows in the processors of a query. All of it can be sent to another process.

A key is a tuple, or ``Windowed`` with one in it; a row is a list. A row is never changed once it was sent on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from headrace.records import Headers, RecordContext
from headrace.sql.compile.rows import RowFunction as CompiledRows
from headrace.sql.schema import Column
from headrace.windows import Windowed

Row: TypeAlias = list[Any]
RowFunction: TypeAlias = Callable[[Any, Row], Any]
"""Of a key and a row that is there."""


def plain_key(key: Any) -> Any:
    """The key without its window."""
    return key.key if isinstance(key, Windowed) else key


def with_plain_key(old: Any, key: tuple[Any, ...] | None) -> Any:
    """Another key, in the window of the old one if it has one."""
    return Windowed(key, old.window) if isinstance(old, Windowed) else key


def is_there(_key: Any, row: Row | None) -> bool:
    """Whether there is a row."""
    return row is not None


def header_values(headers: Headers, columns: Sequence[Column]) -> list[Any]:
    """The values of header columns: all headers, or the last of one name."""
    return [list(headers) if column.header is None else headers.last(column.header) for column in columns]


@dataclass(frozen=True, slots=True)
class KeyColumns:
    """The key as columns of the row: its parts, then the bounds of its window."""

    count: int
    is_windowed: bool = False

    def __call__(self, key: Any) -> list[Any]:
        if key is None:
            return [None] * (self.count + 2 * self.is_windowed)
        if self.is_windowed:
            return [*key.key, key.window.start, key.window.end]
        return list(key)


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """A row as it was read, and the columns that sources add: headers, pseudo columns, the key."""

    headers: tuple[Column, ...]
    key: KeyColumns

    def __call__(self, key: Any, row: Row, context: RecordContext) -> Row:
        added = header_values(context.headers, self.headers) if self.headers else ()
        return [*row, *added, context.timestamp, context.partition, context.offset, *self.key(key)]


@dataclass(frozen=True, slots=True)
class StoredColumns:
    """A row as it was read, and the columns that are not known any more when it is looked up."""

    headers: tuple[Column, ...]

    def __call__(self, key: Any, row: Row, context: RecordContext) -> Row:
        return [*row, *header_values(context.headers, self.headers), context.partition, context.offset]


@dataclass(frozen=True, slots=True)
class RemainingColumns:
    """A row as it is stored, and the columns that are known when it is looked up."""

    key: KeyColumns

    def __call__(self, key: Any, row: Row, context: RecordContext) -> Row:
        *own, partition, offset = row
        return [*own, context.timestamp, partition, offset, *self.key(key)]


@dataclass(frozen=True, slots=True)
class Projected:
    """Other columns, by a compiled projection."""

    projection: CompiledRows
    log: Any

    def __call__(self, key: Any, row: Row) -> Row:
        return self.projection(row, self.log)  # type: ignore[no-any-return]

    def of_any_row(self) -> Callable[[Any, Row | None], Row | None]:
        """The same in one call, for rows that may not be there: they stay so."""
        evaluate, log = self.projection.compiled, self.log
        return lambda _key, row: None if row is None else evaluate(row, log)


@dataclass(frozen=True, slots=True)
class Passing:
    """The row if a compiled condition holds, else None."""

    predicate: CompiledRows
    log: Any

    def __call__(self, key: Any, row: Row) -> Row | None:
        return row if self.predicate(row, self.log) else None

    def of_any_row(self) -> Callable[[Any, Row | None], bool]:
        """Whether it holds, in one call, for rows that may not be there: those do not pass."""
        evaluate, log = self.predicate.compiled, self.log
        return lambda _key, row: row is not None and evaluate(row, log)


@dataclass(frozen=True, slots=True)
class WithBounds:
    """The row and the bounds of its window."""

    def __call__(self, key: Any, row: Row) -> Row:
        return [*row, key.window.start, key.window.end]


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key of compiled expressions, and the row with those parts of it at the end that are no columns.

    Some are computed from the old key alone, so that a record without a row keeps its key. What fails is null.
    """

    parts: tuple[KeyPart, ...]

    def __call__(self, key: Any, row: Row | None) -> tuple[Any, Row | None]:
        new = tuple(part(key, row) for part in self.parts)
        added = [value for value, part in zip(new, self.parts, strict=True) if part.is_appended]
        return with_plain_key(key, new), row if row is None or not added else [*row, *added]


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One part of a new key."""

    value: Callable[[Row, Any], Any]
    log: Any
    of_key: bool
    """Whether it is computed from the old key alone."""
    is_appended: bool

    def __call__(self, key: Any, row: Row | None) -> Any:
        if self.of_key:
            old = plain_key(key)
            return None if old is None else self.value(list(old), self.log)
        return None if row is None else self.value(row, self.log)


def no_key(_key: Any, row: Row | None) -> tuple[None, Row | None]:
    """The row without a key."""
    return None, row


@dataclass(frozen=True, slots=True)
class GroupKey:
    """The key of a row's group: None where a part of it fails or is null, and the row is in no group."""

    parts: tuple[Callable[[Row, Any], Any], ...]
    log: Any

    def __call__(self, key: Any, row: Row) -> tuple[Any, ...] | None:
        found = []
        for part in self.parts:
            value = part(row, self.log)
            if value is None:
                return None
            found.append(value)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class GroupedRow:
    """The key of a row's group, with the row."""

    key: GroupKey

    def __call__(self, key: Any, row: Row) -> tuple[Any, Row]:
        return self.key(key, row), row


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """The columns of the left row, then those of the right one; what is not there is null."""

    left_count: int
    right_count: int
    added_count: int = 0
    """Columns of a key that neither side has: nobody reads them from the row."""
    is_turned: bool = False
    """Whether the right row comes first: a right join is a left join from the other side."""

    def __call__(self, left: Row | None, right: Row | None) -> Row:
        if self.is_turned:
            left, right = right, left
        first = [None] * self.left_count if left is None else left
        second = [None] * self.right_count if right is None else right
        return [*first, *second, *[None] * self.added_count]


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """The key that a row names in another table; None where it names none."""

    value: Callable[[Row, Any], Any]
    log: Any

    def __call__(self, row: Row) -> tuple[Any] | None:
        found = self.value(row, self.log)
        return None if found is None else (found,)


@dataclass(frozen=True, slots=True)
class Exploded:
    """A row for each result of table functions, side by side; where one has fewer results, null takes their place."""

    functions: tuple[Callable[[Row, Any], list[Any] | None], ...]
    log: Any

    def __call__(self, key: Any, row: Row) -> list[Row]:
        columns = [function(row, self.log) or [] for function in self.functions]
        height = max(map(len, columns))
        padded = [[*column, *[None] * (height - len(column))] for column in columns]
        return [[*row, *values] for values in zip(*padded, strict=True)]
