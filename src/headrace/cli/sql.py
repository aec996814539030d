"""``headrace sql``: a shell, a file, or a statement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.assignments import settings_of
from headrace.cli.exits import NotFoundError, UsageError
from headrace.cli.session import Session, command

group = typer.Typer()

File = Annotated[
    Path | None, typer.Option("-f", "--file", metavar="FILE.sql", help="Execute a file, and run its queries.")
]
Execute = Annotated[
    str | None, typer.Option("-e", "--execute", metavar="SQL", help="Execute statements, print the answers, end.")
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", "-s", metavar="NAME=VALUE", help="A setting, as SET in SQL; may be repeated."),
]
Local = Annotated[bool, typer.Option("--local", help="Run queries in this process, without Spark or Java.")]
UntilIdle = Annotated[
    bool, typer.Option("--until-idle", help="With -f or -e: end when everything there is has been processed.")
]


@command(
    group,
    "sql",
    "headrace sql",
    "headrace sql --local",
    "headrace sql -f queries.sql",
    "headrace sql --local < queries.sql",
    "headrace sql -e \"SELECT * FROM totals WHERE customer = 'ann';\" --json",
    json_help="Print each row as a JSON object on a line, errors too.",
)
def sql(
    session: Session,
    file: File = None,
    execute: Execute = None,
    settings: Set = None,
    local: Local = False,
    until_idle: UntilIdle = False,
) -> None:
    """Streams and tables in ksqlDB's SQL: in a shell, from a file, or a statement at a time.

    Queries that fill streams and tables run in the one process that came first, the shell or the file, until it ends.
    They go on where they were when it is started again. With -f what changes something is done once, however often the
    file is run. With -e nothing is left running: a query that is created so starts with the next shell or file, and
    with --local or --until-idle at once, until everything there is has been processed. Statements that are piped in are
    executed as with -e.
    """
    from headrace.cli.sql_running import SqlRun  # noqa: PLC0415

    if file is not None and execute is not None:
        raise UsageError("-f and -e contradict each other")
    run = SqlRun(
        session,
        settings_of(settings or (), "--set auto.offset.reset=earliest"),
        "local" if local else "spark",
        until_idle=until_idle,
    )
    if file is not None:
        run.file(_text_of(file), file.name)
    elif execute is not None:
        run.text(execute)
    else:
        run.shell()


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        message = f"there is no file {file}"
        raise NotFoundError(message) from None
    except UnicodeDecodeError as error:
        message = f"{file} is not UTF-8: byte {error.start} is wrong"
        raise UsageError(message) from None
