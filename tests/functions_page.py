"""Writes ``docs/reference/sql-functions.md`` from the functions that there are: ``python -m tests.functions_page``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headrace.sql.functions import builtin
from headrace.sql.functions.declare import Kind, Overload

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "sql-functions.md"
_KINDS = {
    Kind.SCALAR: ("Scalar functions", "One value for each row. NULL in gives NULL out where nothing else is said."),
    Kind.AGGREGATE: (
        "Aggregates",
        "One value out of many rows, with GROUP BY. What follows the columns (`k`, `n`, `ignore_nulls`) is a literal.",
    ),
    Kind.TABLE: ("Table functions", "Several rows out of one."),
}


def page() -> str:
    """The text of the page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# Functions of SQL"
    yield ""
    yield "All functions that statements may call, with every way to call them. A single capital letter stands for any"
    yield "type, the same one wherever it occurs; `...` takes any number of arguments. How to write your own:"
    yield "[Functions for SQL](../guide/17-functions-for-sql.md). This page is made from the code (`make docs`)."
    for kind, (title, text) in _KINDS.items():
        yield from ("", f"## {title}", "", text, "", "| function | what it is |", "|---|---|")
        for name, found in builtin().names.items():
            if found is kind:
                yield _row(name, list(builtin().overloads(name)))


def _row(name: str, overloads: list[Overload]) -> str:
    calls = "<br>".join(f"`{name}{overload.signature}`" for overload in overloads)
    told = dict.fromkeys(overload.description for overload in overloads if overload.description)
    for_tables = " For tables, too." if hasattr(overloads[0].body, "undo") else ""
    return f"| {calls} | {' '.join(told)}{for_tables} |"


if __name__ == "__main__":
    PAGE.write_text(page())
