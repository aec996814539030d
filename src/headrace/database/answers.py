"""What a statement answers: a sentence, or rows, which may go on coming."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.database.values import python_row
from headrace.optional import extra_for
from headrace.sql.answers import plain_row
from headrace.sql.engine.answers import Done, Table
from headrace.sql.schema import Column
from headrace.sql.tree.types import BIGINT, BOOLEAN, STRING

_SHOWN_ROWS = 100


@dataclass(frozen=True, slots=True)
class Row:
    """One row, its values as the engine of SQL has them. ``is_gone``: a table has no such row any more."""

    values: Sequence[Any]
    is_gone: bool = False


class LiveRows(Protocol):
    """Rows that come one after another, until they are closed."""

    def __iter__(self) -> Iterator[Row]: ...

    def close(self) -> None:
        """No more rows are wanted."""


class Answer:
    """The answer to one statement.

    Iterating gives its rows, each a tuple of Python values in the order of ``columns``. Rows of a query with EMIT
    CHANGES come as they happen: iteration waits for them, until LIMIT or ``close`` ends it. A context manager.
    """

    def __init__(
        self,
        columns: Sequence[Column] = (),
        rows: Sequence[Row] = (),
        *,
        message: str = "",
        live: LiveRows | None = None,
        is_log: bool = False,
        tables: Sequence[Table] = (),
    ) -> None:
        self.columns = tuple(columns)
        self.message = message
        """What was done, for a statement that has no rows."""
        self.is_log = is_log
        """Whether it is read as lines rather than as a table: PRINT."""
        self.tables = tuple(tables)
        """What SHOW, DESCRIBE and EXPLAIN found; the first of them is also what iterating gives."""
        self._rows = list(rows)
        self._live = live

    @classmethod
    def of(cls, done: Done) -> Answer:
        """What the engine did or found."""
        if not done.tables:
            return cls(message=done.message)
        first = done.tables[0]
        columns = [_column(name, [row[at] for row in first.rows]) for at, name in enumerate(first.columns)]
        rows = [Row(list(map(_plain, row, columns))) for row in first.rows]
        return cls(columns, rows, message=done.message, tables=done.tables)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    @property
    def is_live(self) -> bool:
        """Whether rows go on coming."""
        return self._live is not None

    def raw(self) -> Iterator[Row]:
        """The rows with values as the engine has them."""
        if self._live is None:
            return iter(self._rows)
        return self._running(self._live)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return (python_row(row.values, self.columns) for row in self.raw())

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows; where they go on coming it waits for the end."""
        return list(self)

    def dicts(self) -> list[dict[str, Any]]:
        """All rows by the names of the columns."""
        return [dict(zip(self.names, row, strict=True)) for row in self]

    def to_arrow(self) -> Any:
        """All rows as an Arrow table."""
        with extra_for("an Arrow table"):
            from headrace.database.arrow import arrow_table  # noqa: PLC0415
        return arrow_table(self.columns, (row.values for row in self.raw()))

    def to_pandas(self) -> Any:
        """All rows as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def to_spark(self, spark: Any = None) -> Any:
        """All rows as a DataFrame of the session ``spark``, or of the one that this process has."""
        with extra_for("a Spark DataFrame"):
            from headrace.spark.frames import dataframe  # noqa: PLC0415
        return dataframe(spark, self.to_arrow())

    def close(self) -> None:
        """End a query that goes on; nothing for one that has ended."""
        if self._live is not None:
            self._live.close()

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self.columns:
            return f"<Answer: {self.message}>"
        count = "rows as they come" if self.is_live else f"{len(self._rows)} rows"
        return f"<Answer: {', '.join(self.names)}; {count}>"

    def _repr_html_(self) -> str:
        """For a notebook: a table of the first rows."""
        if not self.columns or self.is_live:
            return f"<p>{html.escape(self.message or repr(self))}</p>"
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.names)
        body = "".join(self._html_row(row) for row in self._rows[:_SHOWN_ROWS])
        left = len(self._rows) - _SHOWN_ROWS
        note = f"<p>and {left} more rows</p>" if left > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"

    def _html_row(self, row: Row) -> str:
        cells = (html.escape("" if value is None else str(value)) for value in plain_row(row.values, self.columns))
        return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"

    def _running(self, live: LiveRows) -> Iterator[Row]:
        try:
            yield from live
        finally:
            live.close()


def _column(name: str, values: Sequence[Any]) -> Column:
    """The column of a table without types: numbers where all are numbers, else texts."""
    kinds = {type(value) for value in values if value is not None}
    return Column(name, BOOLEAN if kinds == {bool} else BIGINT if kinds == {int} else STRING)


def _plain(value: Any, column: Column) -> Any:
    return value if value is None or column.type != STRING else str(value)
