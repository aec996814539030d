"""Table functions: several rows out of one."""

from __future__ import annotations

from typing import Any

from headrace.sql.functions.declare import table

_MOST_COLUMNS = 20


@table("EXPLODE", "(ARRAY<T> array) -> T", description="A row for each element of an array.")
def explode(array: list[Any] | None) -> list[Any]:
    return array or []


@table(
    "CUBE_EXPLODE", "(ARRAY<T> columns) -> ARRAY<T>", description="A row for each choice of columns, the others null."
)
def cube_explode(columns: list[Any] | None) -> list[list[Any]]:
    if columns is None:
        return []
    if len(columns) > _MOST_COLUMNS:
        message = f"CUBE_EXPLODE takes at most {_MOST_COLUMNS} columns, and there are {len(columns)}"
        raise ValueError(message)
    rows: list[list[Any]] = [[]]
    for value in columns:
        # What is null anyway makes no second row.
        choices = [None] if value is None else [None, value]
        rows = [[*row, choice] for row in rows for choice in choices]
    return rows
