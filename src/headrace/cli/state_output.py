"""What ``headrace state`` prints: stores, the values of a key, entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from headrace.cli.exits import UsageError
from headrace.cli.session import Session
from headrace.cli.state_reading import Bounds, found_by_key, replicas_of, scanned, summaries
from headrace.optional import extra_for
from headrace.query.plain import json_text
from headrace.query.replicas import Replicas

_SHOWN_ROWS = 1000
"""How many rows a table on the terminal has unless told otherwise."""


def print_stores(session: Session, program: str, settings: Iterable[str]) -> None:
    out = session.out
    with replicas_of(session, program, settings) as (replicas, broker):
        found = [{"store": name} for name in replicas.layouts] if out.quiet else summaries(replicas, broker)
    names = ("store", "kind", "changelog", "partitions", "entries", "bytes")
    rows = ([str(one[n]).replace("_", " ") if n == "kind" else one[n] for n in names] for one in found)
    columns = ("STORE", "KIND", "CHANGELOG", ">PARTITIONS", ">ENTRIES", ">BYTES")
    out.listing(found, columns, rows, none="the program has no stores")


def print_key(
    session: Session, program: str, settings: Iterable[str], store: str, key: str, window: int | None
) -> None:
    """The value of a key, or a line for each of its windows."""
    with replicas_of(session, program, settings) as (replicas, broker):
        rows = found_by_key(replicas, broker, store, key, window)
    if session.out.json:
        _print_json(session, rows)
    elif "window_start" in rows[0] and window is None:
        _print_table(session, rows, ("window_start", "window_end", "value"))
    else:
        for row in rows:
            session.out.line(_text(row["value"]))


def print_entries(
    session: Session,
    program: str,
    settings: Iterable[str],
    store: str,
    bounds: Bounds,
    sql: str | None,
    limit: int | None,
) -> None:
    """The entries of a store within bounds, or what a query of them answers."""
    if sql is not None and bounds != Bounds():
        raise UsageError("--sql goes with neither keys nor partitions", hint="Say it in the query: where key >= 'a'.")
    with replicas_of(session, program, settings) as (replicas, _):
        rows = scanned(replicas, store, bounds) if sql is None else _answers(replicas, store, sql)
        if session.out.json:
            _print_json(session, islice(rows, limit))
        else:
            _print_some(session, rows, limit or _SHOWN_ROWS)


def _answers(replicas: Replicas, store: str, sql: str) -> Iterator[dict[str, Any]]:
    with extra_for("--sql"):
        from headrace.query.tables import store_table  # noqa: PLC0415
        from headrace.spark.frames import query  # noqa: PLC0415
    return iter(query(store_table(replicas, store), sql, "store").to_pylist())


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
    for row in rows:
        session.out.text(json_text(row) + "\n")


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, str):
        return value
    return json_text(value).strip('"')
