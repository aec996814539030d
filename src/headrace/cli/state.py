"""``headrace state``: the committed state of an application, while it runs or not; ls, get, scan."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated, Any

import typer

from headrace.cli.exits import UsageError
from headrace.cli.positions import time_of
from headrace.cli.session import Session, command
from headrace.errors import HeadraceError

group = typer.Typer(help="The state of an application: list its stores, get a key, scan.", no_args_is_help=True)

_SHOWN_ROWS = 1000
"""How many rows a table on the terminal has unless told otherwise."""

Program = Annotated[str, typer.Argument(metavar="FILE.py", help="The program; FILE.py:NAME where it has several.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", "-s", metavar="NAME=VALUE", help="A setting, before the program's own.")
]
Store = Annotated[str, typer.Argument(metavar="STORE", help="The name of the store.")]
Key = Annotated[str, typer.Argument(metavar="KEY", help="The key, as the store's serde reads it.")]
Window = Annotated[
    str | None, typer.Option("--window", metavar="TIME", help="Only the window or session that starts at this time.")
]
From = Annotated[str | None, typer.Option("--from", metavar="KEY", help="The first key.")]
To = Annotated[str | None, typer.Option("--to", metavar="KEY", help="The last key.")]
Prefix = Annotated[str | None, typer.Option("--prefix", metavar="KEY", help="Only keys that begin so.")]
Limit = Annotated[int | None, typer.Option("--limit", "-n", metavar="N", min=1, help="At most that many rows.")]
Partition = Annotated[int | None, typer.Option("--partition", "-p", metavar="N", min=0, help="This partition only.")]
Sql = Annotated[str | None, typer.Option("--sql", metavar="QUERY", help='A query of the table "store", run by Spark.')]


@command(group, "ls", "headrace state ls app.py", "headrace state ls app.py --json")
def list_stores(session: Session, program: Program, settings: Set = None) -> None:
    """List the stores of a program: kind, changelog, partitions, entries and the bytes of the changelog.

    Stores that operators keep for themselves, and those without a changelog, have no entries here.
    """
    out, reading = session.out, _reading()
    with reading.replicas_of(session, program, settings or ()) as (replicas, broker):
        found = [{"store": name} for name in replicas.layouts] if out.quiet else reading.summaries(replicas, broker)
    if out.json:
        out.data(found)
    elif out.quiet:
        for one in found:
            out.line(one["store"])
    elif not found:
        out.note("the program has no stores")
    else:
        names = ("store", "kind", "changelog", "partitions", "entries", "bytes")
        rows = [[str(one[n]).replace("_", " ") if n == "kind" else one[n] for n in names] for one in found]
        out.table(("STORE", "KIND", "CHANGELOG", ">PARTITIONS", ">ENTRIES", ">BYTES"), rows)


@command(
    group,
    "get",
    "headrace state get app.py word-counts kafka",
    "headrace state get app.py views-per-minute alice --window 2026-07-01T12:00:00Z",
    "headrace state get app.py word-counts kafka --json",
)
def get_key(
    session: Session, program: Program, store: Store, key: Key, window: Window = None, settings: Set = None
) -> None:
    """Print the value of a key, as it was committed last.

    Of a store of windows or sessions all those of the key are printed, or with --window the one that starts then.
    Without such a key the exit code is 3.
    """
    start = None if window is None else time_of(window)
    reading = _reading()
    with reading.replicas_of(session, program, settings or ()) as (replicas, _):
        rows = reading.found_by_key(replicas, store, key, start)
    if session.out.json:
        _print_json(session, rows)
    elif "window_start" in rows[0] and window is None:
        _print_table(session, rows, ("window_start", "window_end", "value"))
    else:
        for row in rows:
            session.out.line(_text(row["value"]))


@command(
    group,
    "scan",
    "headrace state scan app.py word-counts",
    "headrace state scan app.py word-counts --prefix ka --limit 10",
    "headrace state scan app.py word-counts --from a --to m --json",
    'headrace state scan app.py word-counts --sql "select key, value from store order by value desc limit 10"',
)
def scan_store(
    session: Session,
    program: Program,
    store: Store,
    first: From = None,
    last: To = None,
    prefix: Prefix = None,
    limit: Limit = None,
    partition: Partition = None,
    sql: Sql = None,
    settings: Set = None,
) -> None:
    """Print the entries of a store as they were committed last: partition by partition, keys in order of their bytes.

    With --json each line is an entry. With --sql the entries are the table "store" of a query that Spark runs here; its
    columns are key, value and, as fits the store, timestamp, window_start, window_end, partition.
    """
    reading = _reading()
    bounds = reading.Bounds(first, last, prefix, partition)
    if sql is not None and bounds != reading.Bounds():
        raise UsageError("--sql goes with neither keys nor partitions", hint="Say it in the query: where key >= 'a'.")
    with reading.replicas_of(session, program, settings or ()) as (replicas, _):
        rows = reading.scanned(replicas, store, bounds) if sql is None else _answers(replicas, store, sql)
        if session.out.json:
            _print_json(session, islice(rows, limit))
        else:
            _print_some(session, rows, limit or _SHOWN_ROWS)


def _reading() -> Any:
    # The DSL takes longer to load than all other commands together.
    return importlib.import_module("headrace.cli.state_reading")


def _answers(replicas: Any, store: str, sql: str) -> Iterator[dict[str, Any]]:
    try:
        frames = importlib.import_module("headrace.spark.frames")
    except ModuleNotFoundError as error:
        message = f"--sql needs a package that is not installed: {error.name}"
        raise HeadraceError(message, hint="Install it with: pip install 'headrace[spark]'") from error
    table = importlib.import_module("headrace.query.tables").store_table(replicas, store)
    answer: list[dict[str, Any]] = frames.query(table, sql, "store").to_pylist()
    return iter(answer)


def _print_some(session: Session, rows: Iterator[dict[str, Any]], limit: int) -> None:
    shown = list(islice(rows, limit))
    if shown:
        _print_table(session, shown, tuple(shown[0]))
    else:
        session.out.note("no entries")
    if next(rows, None) is not None:
        session.out.note(f"these are the first {limit}: say --limit N for more")


def _print_table(session: Session, rows: Iterable[dict[str, Any]], names: tuple[str, ...]) -> None:
    values = [[_text(row[name]) for name in names] for row in rows]
    if session.out.quiet:
        for row in values:
            session.out.line("\t".join(row))
        return
    session.out.table([name.replace("_", " ").upper() for name in names], values)


def _print_json(session: Session, rows: Iterable[dict[str, Any]]) -> None:
    json_text = importlib.import_module("headrace.query.plain").json_text
    for row in rows:
        session.out.text(json_text(row) + "\n")


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, str):
        return value
    text: str = importlib.import_module("headrace.query.plain").json_text(value)
    return text.strip('"')
