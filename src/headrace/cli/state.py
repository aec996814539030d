"""``headrace state``: the committed state of an application, while it runs or not; ls, get, scan."""

from __future__ import annotations

from typing import Annotated

import typer

from headrace.cli.assignments import Program, Set
from headrace.cli.positions import time_of
from headrace.cli.session import Session, command

group = typer.Typer(help="The state of an application: list its stores, get a key, scan.", no_args_is_help=True)

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
    from headrace.cli.state_output import print_stores  # noqa: PLC0415

    print_stores(session, program, settings or ())


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
    from headrace.cli.state_output import print_key  # noqa: PLC0415

    start = None if window is None else time_of(window)
    print_key(session, program, settings or (), store, key, start)


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
    from headrace.cli.state_output import print_entries  # noqa: PLC0415
    from headrace.cli.state_reading import Bounds  # noqa: PLC0415

    bounds = Bounds(first, last, prefix, partition)
    print_entries(session, program, settings or (), store, bounds, sql, limit)
