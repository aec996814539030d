"""``python -m bench.sql``: SQL in one task of one core, from the bytes of records to the bytes of results.

Each program is a statement that is planned and built as in production, and fed from a list. The best of several runs
counts, in processor time. Beside it stand the parts: reading, row code and writing without a task around them, and the
parser.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from bench.__main__ import seconds
from bench.programs import Port, Written, run_to_the_end
from headrace.broker.port import NewRecord as BrokerRecord
from headrace.config import StreamsConfig
from headrace.database import Database
from headrace.records import NO_HEADERS
from headrace.sql import parse, parse_expression
from headrace.sql.build.queries import topology_of
from headrace.sql.compile import projection
from headrace.sql.engine.engine import SqlEngine
from headrace.sql.engine.ports import DryQueries, NewRecord
from headrace.sql.formats.format_info import FORMATS, ColumnsFormat
from headrace.sql.formats.rows import row_serde
from headrace.sql.functions import builtin
from headrace.sql.planning.plans import QueryPlan
from headrace.sql.processing_log import ProcessingLog
from headrace.sql.schema import Column
from headrace.sql.text.parser import parse_columns
from headrace.state.cache import ThreadCache
from headrace.task.stream_task import StreamTask

_COLUMNS = "USER_ID BIGINT, PAGE STRING, MS INT, PRICE DOUBLE, OK BOOLEAN"
_SOURCES = (
    f"CREATE STREAM VIEWS (ID STRING KEY, {_COLUMNS}) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON', PARTITIONS=1);"
    "CREATE TABLE USERS (ID STRING PRIMARY KEY, NAME STRING)"
    " WITH (KAFKA_TOPIC='users', VALUE_FORMAT='JSON', PARTITIONS=1);"
)
_SELECTED = (
    "USER_ID",
    "PAGE",
    "MS * 2 + 1",
    "CASE WHEN OK AND MS > 50 THEN PRICE * 1.5E0 ELSE PRICE END",
    "PAGE LIKE '/a%'",
)
_INTO = "O WITH (KAFKA_TOPIC='out') AS SELECT"
_PROGRAMS = {
    "5 columns, 3 expressions": f"CREATE STREAM {_INTO} ID, {', '.join(_SELECTED)} FROM VIEWS;",
    "WHERE and 2 columns": f"CREATE STREAM {_INTO} ID, PAGE, MS FROM VIEWS WHERE OK AND MS > 10;",
    "GROUP BY of 10,000 keys": f"CREATE TABLE {_INTO} ID, COUNT(*), SUM(MS) FROM VIEWS GROUP BY ID;",
    "stream-table join": f"CREATE STREAM {_INTO} V.ID, V.PAGE, U.NAME FROM VIEWS V JOIN USERS U ON V.ID = U.ID;",
}
_PULL = "SELECT ID, NAME, COUNT(*) FROM USERS WHERE ID = 'u42' AND WINDOWSTART >= 1700000000000;"
_KEYS, _QUESTIONS = 10_000, 2_000


class NoTopics:
    """Topics that nobody reads: what is planned here is fed from lists."""

    def names(self) -> Iterable[str]:
        """None."""
        return ()

    def partitions(self, topic: str) -> int | None:
        """One."""
        return 1

    def create(self, topic: str, partitions: int, settings: Any) -> None:
        """Nothing to make."""

    def delete(self, topic: str) -> None:
        """Nothing to delete."""

    def append(self, topic: str, record: NewRecord, *beside: tuple[str, NewRecord]) -> None:
        """Nothing is written."""


def records(number: int) -> list[Any]:
    """Views as a host hands them to a task."""
    return [("in", 0, n, n, b"u%d" % (n * 7919 % _KEYS), view(n), NO_HEADERS) for n in range(number)]


def view(n: int) -> bytes:
    """The value of one record."""
    page = "/about" if n % 3 else "/home"
    return orjson.dumps({"USER_ID": n, "PAGE": page, "MS": n % 100, "PRICE": n % 1000 / 8, "OK": n % 5 > 0})


def users() -> list[Any]:
    """The rows of the table."""
    return [("users", 0, n, 0, b"u%d" % n, orjson.dumps({"NAME": f"name {n}"}), NO_HEADERS) for n in range(_KEYS)]


def planned(statement: str) -> QueryPlan:
    """The plan of a statement over the sources."""
    numbers = count()
    engine = SqlEngine(NoTopics(), DryQueries(), next_number=lambda: next(numbers))
    plan = engine.execute(_SOURCES + statement)[-1].plan
    assert plan is not None and plan.query_plan is not None
    return plan.query_plan


def task_run(statement: str, given: list[Any]) -> Callable[[], Written]:
    """A fresh task with the table already read; the call returned is what is timed."""
    topology = topology_of(planned(statement), builtin(), ProcessingLog())
    config = StreamsConfig(
        {"application.id": "bench", "statestore.cache.max.bytes": 0, "default.dsl.store": "in_memory"}
    )
    plan = topology.configured(config).task_plan()
    port = Port()
    sources = [("in", 0), ("users", 0)] if "JOIN" in statement else [("in", 0)]
    task = StreamTask(plan, config, port, partitions=sources, cache=ThreadCache(0))
    task.initialize()
    task.start()
    if len(sources) > 1:
        task.add_records(("users", 0), users())
        task.process_all(0)

    return lambda: run_to_the_end(task, port, given)


@dataclass(frozen=True)
class Measured:
    """Rows in a second, and microseconds for one."""

    what: str
    rows: int
    seconds: float

    @property
    def per_second(self) -> float:
        """Rows in a second."""
        return self.rows / self.seconds


def measured(what: str, rows: int, rounds: int, make: Callable[[], Callable[[], Any]]) -> Measured:
    """The best of several runs, each made anew."""
    return Measured(what, rows, min(seconds(make()) for _ in range(rounds)))


def parts(given: list[Any], rounds: int) -> list[Measured]:
    """The three parts of the projection without a task."""
    columns = [Column(column.name, column.type) for column in parse_columns(_COLUMNS)]
    values = [record[5] for record in given]
    serde = row_serde(columns, ColumnsFormat(FORMATS["JSON"]))
    rows = [serde.deserialize("in", value) for value in values]
    project = projection([parse_expression(text) for text in _SELECTED], columns, builtin())
    log = ProcessingLog().logger("bench")

    def each(function: Callable[[Any], Any], items: list[Any]) -> Callable[[], Any]:
        return lambda: [function(item) for item in items]

    return [
        measured("read JSON", len(given), rounds, lambda: each(lambda value: serde.deserialize("in", value), values)),
        measured("row code", len(given), rounds, lambda: each(lambda row: project(row, log), rows)),
        measured("write JSON", len(given), rounds, lambda: each(lambda row: serde.serialize("out", row), rows)),
    ]


def pulled(number: int) -> list[tuple[float, float]]:
    """Questions by key, each about another key, to a table of 10,000 in this process: seconds, and of a processor."""
    settings = {"auto.offset.reset": "earliest"}
    table = "CREATE TABLE T AS SELECT ID, COUNT(*) AS N, SUM(MS) AS MS FROM VIEWS GROUP BY ID;"
    with (
        tempfile.TemporaryDirectory() as directory,
        Database(f"embedded:{directory}", engine="local", settings=settings) as database,
    ):
        database.execute(_SOURCES + table)
        database.broker.append([BrokerRecord("in", record[4], record[5]) for record in records(_KEYS)])
        database.run_until_idle()
        found = []
        for n in range(number):
            begun, begun_work = time.perf_counter(), time.thread_time()
            rows = database.execute(f"SELECT N, MS FROM T WHERE ID = 'u{n % _KEYS}';").rows()
            found.append((time.perf_counter() - begun, time.thread_time() - begun_work))
            assert len(rows) == 1
    return found


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.sql", description=__doc__)
    parser.add_argument("--records", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    given = records(arguments.records)
    found = [
        measured(name, len(given), arguments.rounds, lambda statement=statement: task_run(statement, given))  # type: ignore[misc]
        for name, statement in _PROGRAMS.items()
    ]
    found += parts(given, arguments.rounds)
    found.append(
        measured("parse of a pull query", 1_000, arguments.rounds, lambda: lambda: [parse(_PULL) for _ in range(1_000)])
    )
    table = Table("program", "rows/s", "µs/row", title="SQL in one task of one core")
    for each in found:
        table.add_row(each.what, f"{each.per_second:,.0f}", f"{1e6 / each.per_second:.2f}")
    Console().print(table)
    for what, times in zip(("by the clock", "of a processor"), zip(*pulled(_QUESTIONS), strict=True), strict=True):
        p50, p99 = (sorted(times)[len(times) * part // 100] * 1e3 for part in (50, 99))
        Console().print(f"pull by key, {_QUESTIONS:,} questions, {what}: p50 {p50:.2f} ms, p99 {p99:.2f} ms")


if __name__ == "__main__":
    main()
