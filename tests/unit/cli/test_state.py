from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from headrace.broker.port import Broker
from tests.unit.cli.conftest import Headrace
from tests.unit.cli.counting import run_program, say, write_program


@pytest.fixture(autouse=True)
def counted(broker: Broker) -> None:
    """Three lines were counted, at 0, 0 and 12."""
    write_program()
    broker.create_topic("lines", 2)
    say(broker, "all streams lead to kafka", "hello kafka streams")
    say(broker, "hello", at=12)
    run_program(broker)


def cells(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_lists_stores(headrace: Headrace) -> None:
    found = {one["store"]: one for one in headrace("state", "ls", "app.py", "--json").data}
    assert {name: one["entries"] for name, one in found.items()} == {
        "word-counts": 6,
        "by-length": 3,
        "windows": 2,
        "secret": None,
    }
    assert found["word-counts"]["changelog"] == "word-count-word-counts-changelog"
    assert found["word-counts"]["kind"] == "timestamped_kv"
    assert found["word-counts"]["partitions"] == 2
    assert found["word-counts"]["bytes"] > 0
    assert found["secret"]["changelog"] is None
    header, *rows = cells(headrace("state", "ls", "app.py").out)
    assert header == ["STORE", "KIND", "CHANGELOG", "PARTITIONS", "ENTRIES", "BYTES"]
    assert ["word-counts", "timestamped", "kv", "word-count-word-counts-changelog", "2", "6"] in [r[:6] for r in rows]
    assert sorted(headrace("state", "ls", "app.py", "-q").out.split()) == sorted(found)


def test_gets_a_key(headrace: Headrace) -> None:
    assert headrace("state", "get", "app.py", "word-counts", "kafka").out == "2\n"
    assert headrace("state", "get", "app.py", "by-length", "5").out == "1\n"
    (record,) = headrace("state", "get", "app.py", "word-counts", "kafka", "--json").records
    assert {name: record[name] for name in ("key", "value", "timestamp")} == {
        "key": "kafka",
        "value": 2,
        "timestamp": 0,
    }


def test_gets_the_windows_of_a_key_or_one_of_them(headrace: Headrace) -> None:
    assert cells(headrace("state", "get", "app.py", "windows", "al").out) == [
        ["WINDOW", "START", "WINDOW", "END", "VALUE"],
        ["0", "10", "2"],
        ["10", "20", "1"],
    ]
    assert headrace("state", "get", "app.py", "windows", "al", "--window", "10").out == "1\n"


def test_sees_what_a_running_application_commits(headrace: Headrace, broker: Broker) -> None:
    with broker.acquire_lease("word-count"):
        assert headrace("state", "get", "app.py", "word-counts", "hello").out == "2\n"
    say(broker, "hello")
    assert headrace("state", "get", "app.py", "word-counts", "hello").out == "2\n"
    run_program(broker)
    assert headrace("state", "get", "app.py", "word-counts", "hello").out == "3\n"


def test_scans_a_store(headrace: Headrace) -> None:
    def keys(*options: str) -> list[str]:
        return sorted(
            one["key"] for one in headrace("state", "scan", "app.py", "word-counts", "--json", *options).records
        )

    assert keys() == ["all", "hello", "kafka", "lead", "streams", "to"]
    assert keys("--from", "h", "--to", "lead") == ["hello", "kafka", "lead"]
    assert keys("--prefix", "k") == ["kafka"]
    assert len(keys("--limit", "2")) == 2
    assert sorted(keys("-p", "0") + keys("-p", "1")) == keys()


def test_scans_into_a_table(headrace: Headrace) -> None:
    ran = headrace("state", "scan", "app.py", "word-counts", "--prefix", "k")
    header, row = cells(ran.out)
    assert header == ["KEY", "VALUE", "TIMESTAMP", "PARTITION"]
    assert row[:3] == ["kafka", "2", "0"]
    some = headrace("state", "scan", "app.py", "word-counts", "--limit", "2")
    assert len(cells(some.out)) == 3
    assert some.err == "these are the first 2: say --limit N for more\n"
    assert headrace("state", "scan", "app.py", "word-counts", "--prefix", "zzz").err == "no entries\n"
    windows = headrace("state", "scan", "app.py", "windows", "--from", "al", "--json").records
    assert [(one["window_start"], one["value"]) for one in windows] == [(0, 2), (10, 1)]


def test_sql_runs_on_the_table_store(headrace: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def query(table: pa.Table, sql: str, name: str) -> pa.Table:
        asked.append((table.num_rows, sql, name))
        return table.sort_by("key").slice(0, 1).select(["key", "value"])

    monkeypatch.setitem(sys.modules, "headrace.spark.frames", SimpleNamespace(query=query))
    ran = headrace("state", "scan", "app.py", "word-counts", "--sql", "select 1", "--json")

    assert asked == [(6, "select 1", "store")]
    assert ran.records == [{"key": "all", "value": 1}]


def test_sql_without_spark_says_what_to_install(headrace: Headrace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "headrace.spark.frames", raising=False)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    told = headrace.fails("state", "scan", "app.py", "word-counts", "--sql", "select 1", code=1)
    assert "pip install 'headrace[spark]'" in told


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("get", "app.py", "word-counts", "nope"), 3, "there is no key 'nope'"),
        (("get", "app.py", "windows", "al", "--window", "5"), 3, "with a window that starts at 5"),
        (("get", "app.py", "windows", "al", "--window", str(2**62)), 3, f"with a window that starts at {2**62}"),
        (("get", "app.py", "windows", "al", "--window", str(2**63)), 2, f"'{2**63}' is no time"),
        (("get", "app.py", "word-counts", "kafka", "--window", "5"), 2, "has no windows"),
        (("get", "app.py", "word-count", "kafka"), 3, "Did you mean 'word-counts'?"),
        (("get", "app.py", "by-length", "five"), 2, "is no key of this store"),
        (("get", "app.py", "secret", "al"), 1, "has no changelog"),
        (("scan", "app.py", "windows", "--prefix", "a"), 2, "no prefix scan"),
        (("scan", "app.py", "word-counts", "--prefix", "a", "--to", "b"), 2, "--prefix goes with neither"),
        (("scan", "app.py", "word-counts", "-p", "9"), 3, "has no partition 9"),
        (("scan", "app.py", "word-counts", "--sql", "select 1", "--prefix", "a"), 2, "Say it in the query"),
        (("ls", "nope.py"), 3, "there is no file nope.py"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    headrace: Headrace, arguments: tuple[str, ...], code: int, told: str
) -> None:
    assert told in headrace.fails("state", *arguments, code=code)


def test_errors_are_json_too(headrace: Headrace) -> None:
    told = json.loads(headrace.fails("state", "get", "app.py", "word-counts", "nope", "--json", code=3))
    assert told["exit_code"] == 3


def test_before_the_first_batch_a_missing_key_is_told_to_wait_for_it(headrace: Headrace) -> None:
    told = headrace.fails("state", "get", "app.py", "word-counts", "kafka", "-s", "application.id=fresh", code=3)
    assert "hint: The application fresh has committed nothing yet: start it, or wait for its first batch." in told
    assert "hint" not in headrace.fails("state", "get", "app.py", "word-counts", "nope", code=3)
