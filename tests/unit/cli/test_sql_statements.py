"""``headrace sql -e``: who runs the queries that it creates."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from headrace.cli import exits
from headrace.cli.output import Output
from headrace.database import Database
from headrace.sql.formats import rows
from headrace.sql.functions import builtin, scalar
from tests.unit.cli.conftest import Headrace

SHOP = """
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM orders (id INT KEY, customer STRING) WITH (kafka_topic='orders', value_format='JSON', partitions=1);
INSERT INTO orders VALUES (1, 'ann');
CREATE TABLE counts AS SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer;
"""
OVERFLOW = """
CREATE STREAM prices (k STRING KEY, d DECIMAL(4,2)) WITH (kafka_topic='prices', value_format='JSON', partitions=1);
CREATE TABLE sums AS SELECT k, SUM(d) AS x FROM prices GROUP BY k;
INSERT INTO prices VALUES ('a', 99.99);
INSERT INTO prices VALUES ('a', 99.99);
"""


def test_local_ones_run_until_all_is_processed(headrace: Headrace, tmp_path: Path) -> None:
    ran = headrace(
        "sql", "-b", f"embedded:{tmp_path / 'shop'}", "--local", "--json", "-e", SHOP + "SELECT * FROM counts;"
    )

    assert ran.records[-1] == {"CUSTOMER": "ann", "N": 1}
    assert ran.err == ""


def test_others_say_who_would_run_them(headrace: Headrace, tmp_path: Path) -> None:
    ran = headrace("sql", "-b", f"embedded:{tmp_path / 'shop'}", "-e", SHOP)

    assert "No process runs CTAS_COUNTS" in ran.err
    assert "--until-idle or --local" in ran.err
    assert ran.code == exits.OK


def test_a_setting_that_is_none_is_told_with_an_option_that_the_command_has(headrace: Headrace) -> None:
    for command, option in (
        (("sql", "-e", "SHOW STREAMS;", "--set", "x"), "--set"),
        (("run", "a.py", "-s", "x"), "--set"),
    ):
        assert f"for instance {option} " in headrace.fails(*command, code=exits.USAGE)
    assert "for instance --config " in headrace.fails("topics", "create", "a", "--config", "x", code=exits.USAGE)


def test_what_fails_alike_on_many_rows_is_told_once_and_counted(headrace: Headrace, tmp_path: Path) -> None:
    more = "INSERT INTO orders VALUES (2, 'bob'); INSERT INTO orders VALUES (3, 'eve'); SELECT id / 0 FROM orders;"
    ran = headrace("sql", "-b", f"embedded:{tmp_path / 'shop'}", "--local", "-e", SHOP + more)

    first, last = (line for line in ran.err.splitlines() if "division by zero" in line)
    assert first.startswith("warning: _confluent")
    assert last.startswith("warning: 3 times: _confluent")


def test_ctrl_c_ends_a_file_well_as_soon_as_it_is_said_to_run(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []

    def interrupt(out: Output, text: str) -> None:
        said.append(text)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Output, "note", interrupt)
    (tmp_path / "shop.sql").write_text(SHOP)
    ran = headrace("sql", "-b", f"embedded:{tmp_path / 'shop'}", "--local", "-f", str(tmp_path / "shop.sql"))

    assert [each.partition(": ")[2] for each in said] == ["running until Ctrl-C or SIGTERM."]
    assert ran.code == exits.OK


def test_a_query_that_fails_takes_no_answer_away(headrace: Headrace, tmp_path: Path) -> None:
    asked = "SELECT * FROM counts; SHOW QUERIES;"
    ran = headrace.runs(
        "sql", "-b", f"embedded:{tmp_path / 'shop'}", "--local", "--json", "-e", SHOP + OVERFLOW + asked
    )

    answer, *shown = ran.records[-3:]
    assert answer == {"CUSTOMER": "ann", "N": 1}
    assert [query["Status"] for query in shown] == ["RUNNING", "ERROR"]
    (error,) = map(json.loads, ran.err.splitlines())
    failed = f"the query {shown[1]['Query ID']} failed: OverflowError"
    assert error["error"] == f"{failed}: the sum of 99.99 and 99.99 does not fit into DECIMAL(4, 2)"
    assert error["at"].endswith("record prices-0@1")
    assert ran.code == exits.FAILED


def test_sigterm_is_no_failure_of_what_runs_when_it_comes(
    headrace: Headrace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Here failures become errors of the statement: of its format.
    monkeypatch.setattr(rows, "_codec", lambda *_: os.kill(os.getpid(), signal.SIGTERM))
    told = headrace.fails("sql", "-b", f"embedded:{tmp_path / 'shop'}", "--local", "-e", SHOP, code=exits.TERMINATED)

    assert told == ""


def test_a_query_with_functions_that_the_command_has_not_is_a_failure(headrace: Headrace, tmp_path: Path) -> None:
    @scalar("LOUD")
    def loud(text: str) -> str:
        return text.upper()

    address = f"embedded:{tmp_path / 'shop'}"
    with Database(address, engine="local", functions=builtin().extended(loud), runs_queries=False) as database:
        database.execute(SHOP + "CREATE STREAM shouted AS SELECT id, LOUD(customer) AS c FROM orders;")
    ran = headrace.runs("sql", "-b", address, "--local", "-e", "SELECT * FROM counts;")

    assert "ann" in ran.out
    assert ran.err.count("there is no function `LOUD`") == 1
    assert "\\n" not in ran.err
    assert ran.code == exits.FAILED


def test_quiet_json_is_rows_only_and_a_decimal_keeps_its_digits(headrace: Headrace, tmp_path: Path) -> None:
    asked = "SELECT d + d AS d, CAST(1 AS DOUBLE) / 0 AS x FROM prices LIMIT 1;"
    made, _, *inserted = OVERFLOW.strip().splitlines()
    text = "\n".join((made, *inserted, asked))
    ran = headrace("sql", "-b", f"embedded:{tmp_path / 'shop'}", "--json", "--quiet", "-e", text)

    assert ran.records == [{"D": "199.98", "X": "Infinity"}]


@pytest.mark.parametrize("fails", [False, True], ids=["skipped", "fatal"])
def test_a_record_that_cannot_be_read_is_told_once(headrace: Headrace, tmp_path: Path, fails: bool) -> None:
    address = f"embedded:{tmp_path / 'shop'}"
    headrace("sql", "-b", address, "-e", SHOP.partition("INSERT")[0])
    headrace("produce", "-b", address, "orders", input="nonsense\n")
    fatal = "SET 'ksql.fail.on.deserialization.error' = 'true';" if fails else ""
    copy = f"SET 'auto.offset.reset' = 'earliest'; {fatal} CREATE STREAM copy AS SELECT * FROM orders;"
    (tmp_path / "copy.sql").write_text(copy)
    until = () if fails else ("--until-idle",)
    ran = headrace.runs("sql", "-b", address, "--local", "-f", str(tmp_path / "copy.sql"), *until)

    told = [line.partition(":")[0] for line in ran.err.splitlines() if "error:" in line or "warning:" in line]
    assert told == (["warning", "error"] if fails else ["warning"])
    assert ran.code == (exits.FAILED if fails else exits.OK)
