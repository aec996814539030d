"""SQL on an embedded broker, queries in this process: made, asked, stopped, and there again after a restart."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.broker import open_broker
from headrace.broker.port import NewRecord
from headrace.database import Database
from headrace.errors import HeadraceError
from headrace.sql.errors import SqlError
from headrace.sql.pull.plan import planned_pull

ORDERS = """
SET 'auto.offset.reset' = 'earliest';
CREATE STREAM orders (id INT KEY, customer STRING, amount INT)
  WITH (kafka_topic='orders', value_format='JSON', partitions=2);
"""
TOTALS = "CREATE TABLE totals AS SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer;"


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"embedded:{tmp_path / 'data'}"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def database(address: str, tmp_path: Path) -> Iterator[Database]:
    with opened(address) as found:
        yield found


def opened(address: str, **more: Any) -> Database:
    return Database(address, engine="local", **more)


def eventually(found: Callable[[], Any], expected: Any, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while (last := found()) != expected and time.monotonic() < until:
        time.sleep(0.05)
    assert last == expected


def totals(database: Database) -> list[tuple[Any, ...]]:
    return sorted(database.execute("SELECT * FROM totals;").rows())


def insert(database: Database, *rows: str) -> None:
    database.execute("".join(f"INSERT INTO orders VALUES {row};" for row in rows))


def test_a_table_is_kept_and_answers_by_key(database: Database) -> None:
    database.execute(ORDERS + TOTALS)
    insert(database, "(1, 'ann', 3)", "(2, 'bob', 4)", "(3, 'ann', 5)")
    database.run_until_idle()
    assert totals(database) == [("ann", 8), ("bob", 4)]
    assert database.execute("SELECT total FROM totals WHERE customer = 'ann';").dicts() == [{"TOTAL": 8}]


@pytest.mark.parametrize(
    ("window", "start", "end"),
    [("TUMBLING (SIZE 1 SECOND)", 2**63 - 808, 2**63 - 1), ("SESSION (1 SECOND)", 2**63 - 1, 2**63 - 1)],
)
def test_windows_end_at_the_latest_when_time_does(database: Database, window: str, start: int, end: int) -> None:
    database.execute(ORDERS + TOTALS.replace("orders", f"orders WINDOW {window}"))
    database.execute(f"INSERT INTO orders (rowtime, id, customer, amount) VALUES ({2**63 - 1}, 1, 'ann', 3);")
    database.run_until_idle()
    expected = [("ann", start, end, 3)]
    assert totals(database) == database.execute("SELECT * FROM totals WHERE customer = 'ann';").rows() == expected


def test_the_application_of_a_query_has_ksqldbs_name(database: Database) -> None:
    database.execute(ORDERS + TOTALS)
    assert list(database.persistent_queries) == ["CTAS_TOTALS_1"]
    assert "_confluent-ksql-default_query_CTAS_TOTALS_1" in database.broker.applications()


def test_a_restart_finds_everything_again(address: str, tmp_path: Path) -> None:
    with opened(address) as database:
        database.execute(ORDERS + TOTALS + "CREATE TYPE money AS DECIMAL(10, 2);")
        insert(database, "(1, 'ann', 3)")
        database.run_until_idle()
    with opened(address) as database:
        assert set(database.engine.catalog.sources) == {"ORDERS", "TOTALS"}
        assert set(database.engine.catalog.types) == {"MONEY"}
        assert database.state_of("CTAS_TOTALS_1") == "RUNNING"
        insert(database, "(2, 'ann', 4)")
        database.run_until_idle()
        assert totals(database) == [("ann", 7)]
        database.execute("CREATE STREAM large AS SELECT * FROM orders WHERE amount > 100;")
        assert "CSAS_LARGE_3" in database.persistent_queries


def test_a_new_query_reads_from_now_on_unless_it_is_told_otherwise(database: Database) -> None:
    database.execute(ORDERS)
    insert(database, "(1, 'ann', 3)")
    database.execute("UNSET 'auto.offset.reset';" + TOTALS)
    insert(database, "(2, 'ann', 4)")
    database.run_until_idle()
    assert totals(database) == [("ann", 4)]


def test_a_push_query_tells_of_rows_as_they_come_until_its_limit(database: Database) -> None:
    database.execute(ORDERS)
    insert(database, "(1, 'ann', 3)")
    answer = database.execute("SELECT id, amount * 2 AS twice FROM orders EMIT CHANGES LIMIT 2;")
    later = threading.Timer(0.3, insert, (database, "(2, 'bob', 4)"))
    later.start()
    assert sorted(answer.rows()) == [(1, 6), (2, 8)]
    later.join()
    assert [one for one in database.broker.applications() if "transient" in one] == []


@pytest.mark.parametrize("prefix", ["", "ksql.streams."])
def test_a_push_query_without_a_cache_tells_of_every_change_however_that_is_set(address: str, prefix: str) -> None:
    other = "" if prefix else "ksql.streams."
    with opened(address, settings={f"{other}statestore.cache.max.bytes": 1_000_000}) as database:
        database.execute(f"{ORDERS} SET '{prefix}statestore.cache.max.bytes' = '0';")
        insert(database, "(1, 'ann', 3)", "(1, 'ann', 4)", "(1, 'ann', 5)")
        answer = database.execute(
            "SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer EMIT CHANGES LIMIT 3;"
        )
        assert list(answer.rows()) == [("ann", 3), ("ann", 7), ("ann", 12)]


def test_a_push_query_ends_when_it_is_closed(database: Database) -> None:
    database.execute("SET 'auto.offset.reset' = 'latest';" + ORDERS.replace("earliest", "latest"))
    with database.execute("SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer EMIT CHANGES;") as answer:
        insert(database, "(1, 'ann', 3)")
        assert next(iter(answer)) == ("ann", 1)
    assert [one for one in database.broker.topics() if "transient" in one] == []


def test_a_topic_is_printed(database: Database) -> None:
    database.execute(ORDERS)
    insert(database, "(1, 'ann', 3)")
    (row,) = database.execute("PRINT 'orders' FROM BEGINNING LIMIT 1;").dicts()
    assert (row["KEY"], row["VALUE"]) == ("0x00000001", '{"CUSTOMER":"ann","AMOUNT":3}')


def test_a_query_that_failed_says_why(address: str) -> None:
    with opened(address, settings={"ksql.fail.on.deserialization.error": True}) as database:
        database.execute(ORDERS + TOTALS)
        assert database.failure_of("CTAS_TOTALS_1") is None
        database.broker.append([NewRecord("orders", b"\0\0\0\1", b"{")])
        eventually(lambda: database.state_of("CTAS_TOTALS_1"), "ERROR")
        assert "orders" in str(database.failure_of("CTAS_TOTALS_1"))
        database.execute("PAUSE CTAS_TOTALS_1;")
        database.run_until_idle()  # whoever pauses it has seen it


def test_a_failure_is_raised_once_and_kept(address: str) -> None:
    with opened(address, settings={"ksql.fail.on.deserialization.error": True}) as database:
        database.execute(ORDERS + TOTALS)
        database.broker.append([NewRecord("orders", b"\0\0\0\1", b"{")])
        with pytest.raises(HeadraceError, match="orders") as raised:
            database.run_until_idle()
        database.run_until_idle()
        assert database.state_of("CTAS_TOTALS_1") == "ERROR"
        assert database.failure_of("CTAS_TOTALS_1") is raised.value


def test_a_query_stands_still_and_goes_on(address: str, tmp_path: Path) -> None:
    with opened(address) as database:
        database.execute(ORDERS + TOTALS)
        database.execute("PAUSE CTAS_TOTALS_1;")
        assert database.state_of("CTAS_TOTALS_1") == "PAUSED"
    with opened(address) as database:
        assert database.state_of("CTAS_TOTALS_1") == "PAUSED"
        insert(database, "(1, 'ann', 3)")
        database.execute("RESUME ALL;")
        eventually(lambda: totals(database), [("ann", 3)])


def test_what_is_terminated_and_dropped_is_gone(database: Database) -> None:
    database.execute(ORDERS + TOTALS)
    database.execute("TERMINATE CTAS_TOTALS_1;")
    assert database.persistent_queries == {}
    database.execute("DROP TABLE totals DELETE TOPIC; DROP STREAM orders;")
    assert [one for one in database.broker.topics() if not one.endswith("_headrace_journal")] == ["orders"]
    assert not any("CTAS" in one for one in database.broker.applications())


def test_what_was_terminated_while_nobody_ran_it_is_cleared_up_by_the_next(address: str, tmp_path: Path) -> None:
    with opened(address) as database:
        database.execute(ORDERS + TOTALS)
        insert(database, "(1, 'ann', 3)")
        database.run_until_idle()
    with opened(address, runs_queries=False) as database:
        database.execute("TERMINATE CTAS_TOTALS_1;")
        assert database.runner is None
    with opened(address) as database:
        assert not any("CTAS" in one for one in (*database.broker.applications(), *database.broker.topics()))


def test_one_process_runs_what_another_one_makes(database: Database, address: str, tmp_path: Path) -> None:
    database.execute(ORDERS)
    with opened(address) as other:
        other.execute("SET 'auto.offset.reset' = 'earliest';" + TOTALS)
        insert(other, "(1, 'ann', 3)")
        eventually(lambda: totals(other), [("ann", 3)])
        assert (database.state_of("CTAS_TOTALS_1"), other.state_of("CTAS_TOTALS_1")) == ("RUNNING", "UNKNOWN")


def test_a_topic_is_deleted_when_the_process_that_runs_its_query_has_ended_it(database: Database, address: str) -> None:
    database.execute(ORDERS + TOTALS)
    (query,) = database.persistent_queries.values()
    application = database._queries.config(query)["application.id"]
    with opened(address) as other:
        assert other.broker.lease_owner(application) is not None
        other.execute("DROP TABLE totals DELETE TOPIC;")
        assert other.broker.lease_owner(application) is None
        assert "TOTALS" not in other.broker.topics()


def test_a_mistake_in_any_statement_leaves_all_undone(database: Database) -> None:
    with pytest.raises(SqlError, match="there is no stream or table NOTHING") as caught:
        database.execute(ORDERS + "CREATE STREAM s AS SELECT *\n  FROM nothing;")
    assert caught.value.place is not None
    assert (caught.value.code, caught.value.place.line) == ("name.source", 6)
    assert database.engine.catalog.sources == {}


def test_a_mistake_in_a_question_leaves_all_undone(database: Database) -> None:
    database.execute(ORDERS + TOTALS)
    for question, word in (
        ("SELECT * FROM ordrs;", "ordrs"),
        ("SELECT customr FROM orders EMIT CHANGES;", "customr"),
        ("SELECT * FROM totals WHERE totl = 1;", "totl"),
    ):
        text = f"INSERT INTO orders VALUES (1, 'ann', 3); {question}"
        with pytest.raises(SqlError) as raised:
            database.execute(text)
        assert str(raised.value.place) == f"1:{text.index(word) + 1}"
    assert database.execute("SELECT * FROM orders;").rows() == []


def test_a_question_may_be_about_what_the_text_makes(database: Database) -> None:
    assert database.execute(f"{ORDERS} {TOTALS} SELECT * FROM totals;").rows() == []


def test_the_statements_of_a_script_are_executed_once(address: str, tmp_path: Path) -> None:
    script = ORDERS + "INSERT INTO orders VALUES (1, 'ann', 3); INSERT INTO orders VALUES (1, 'ann', 3);" + TOTALS
    for _ in range(2):
        with opened(address) as database:
            list(database.run_script(script, "totals.sql"))
            database.run_until_idle()
            assert totals(database) == [("ann", 6)]
    with opened(address) as database:
        assert [parsed.text for parsed, _ in database.run_script(script + "DROP TABLE totals;", "totals.sql")] == [
            "SET 'auto.offset.reset' = 'earliest';",
            "DROP TABLE totals;",
        ]


def test_a_script_that_was_edited_is_told_with_what_is_there(address: str) -> None:
    with opened(address) as database:
        list(database.run_script(ORDERS + TOTALS, "totals.sql"))
        edited = ORDERS + TOTALS.replace("GROUP BY", "WHERE amount > 1 GROUP BY")
        assert edited != ORDERS + TOTALS
        with pytest.raises(SqlError, match="TABLE TOTALS is there: an earlier version of the file made it") as caught:
            list(database.run_script(edited, "totals.sql"))
        assert caught.value.place is not None
        assert "\n    + " in str(caught.value.detail)
        assert "WHERE amount > 1" in str(caught.value.detail)
        assert "CREATE OR REPLACE TABLE TOTALS" in str(caught.value.hint)
        assert "DROP TABLE TOTALS;" in str(caught.value.hint)
        with pytest.raises(SqlError, match=r"is there: totals\.sql made it, by the same statement"):
            list(database.run_script(ORDERS + TOTALS, "renamed.sql"))


def test_an_insert_that_was_edited_is_told_with_the_query_that_runs(address: str) -> None:
    copy = "CREATE STREAM big (id INT KEY, amount INT) WITH (kafka_topic='big', value_format='JSON', partitions=2);"
    inserts = "INSERT INTO big SELECT id, amount FROM orders WHERE amount > 10;"
    edited = inserts.replace("> 10", "> 20")
    with opened(address) as database:
        list(database.run_script(ORDERS + copy + inserts, "big.sql"))
        (query,) = database.persistent_queries
        with pytest.raises(SqlError, match=f"an earlier version of the file inserts into BIG still: {query}") as caught:
            list(database.run_script(ORDERS + copy + edited, "big.sql"))
        assert caught.value.place is not None
        assert "> 20" in str(caught.value.detail)
        assert f"TERMINATE {query};" in str(caught.value.hint)
        assert [*database.persistent_queries] == [query]
        # Other blanks are no edit, and who keeps the earlier one wants both.
        list(database.run_script(ORDERS + copy + inserts.replace(" FROM", "\n  FROM"), "big.sql"))
        assert [*database.persistent_queries] == [query]
        list(database.run_script(ORDERS + copy + inserts + edited, "big.sql"))
        assert len(database.persistent_queries) == 2


@pytest.mark.parametrize("is_in_the_file", [False, True])
def test_an_insert_takes_the_place_of_one_that_was_terminated(address: str, is_in_the_file: bool) -> None:
    copy = "CREATE STREAM big (id INT KEY, amount INT) WITH (kafka_topic='big', value_format='JSON', partitions=2);"
    inserts = "INSERT INTO big SELECT id, amount FROM orders WHERE amount > 10;"
    with opened(address) as database:
        list(database.run_script(ORDERS + copy + inserts, "big.sql"))
        (query,) = database.persistent_queries
        terminate = f"TERMINATE {query};"
        if not is_in_the_file:
            database.execute(terminate)
        edited = (terminate if is_in_the_file else "") + inserts.replace("> 10", "> 20")
        list(database.run_script(ORDERS + copy + edited, "big.sql"))
        (left,) = database.persistent_queries
        assert left != query


def test_other_blanks_and_comments_are_no_edit(address: str) -> None:
    with opened(address) as database:
        list(database.run_script(ORDERS + TOTALS, "totals.sql"))
        rewritten = (
            (ORDERS + TOTALS).replace("CREATE TABLE", "-- all of them\nCREATE  TABLE").replace(" FROM", "\n  FROM")
        )
        done = [parsed.text for parsed, _ in database.run_script(rewritten, "totals.sql")]
        assert done == [text for text in done if text.startswith("SET ")]


def test_answers_are_arrow_tables_and_draw_themselves(database: Database) -> None:
    database.execute(ORDERS)
    insert(database, "(1, '<b>', 3)")
    answer = database.execute("SELECT * FROM orders;")
    assert answer.to_arrow().to_pylist() == [{"ID": 1, "CUSTOMER": "<b>", "AMOUNT": 3}]
    assert "<td>&lt;b&gt;</td>" in answer._repr_html_()
    assert list(answer.to_pandas().columns) == ["ID", "CUSTOMER", "AMOUNT"]


def test_a_journal_that_cannot_be_read_says_where(address: str, tmp_path: Path, database: Database) -> None:
    broker = open_broker(address)
    broker.append([NewRecord(database.names.journal, None, b"?", partition=0)])
    broker.close()
    with pytest.raises(Exception, match="cannot be read at offset 0"):
        database.execute("SHOW STREAMS;")


def test_a_query_made_while_nobody_runs_it_reads_from_when_it_was_made(address: str, tmp_path: Path) -> None:
    with opened(address, runs_queries=False) as database:
        database.execute(ORDERS.replace("earliest", "latest"))
        insert(database, "(1, 'ann', 3)")
        database.execute(TOTALS)
        insert(database, "(2, 'ann', 4)")
    with opened(address) as database:
        database.run_until_idle()
        assert totals(database) == [("ann", 4)]


def test_another_process_goes_on_when_the_first_one_ends(address: str, tmp_path: Path) -> None:
    first = opened(address)
    first.execute(ORDERS + TOTALS)
    with opened(address) as second:
        assert second.state_of("CTAS_TOTALS_1") == "UNKNOWN"
        first.close()
        eventually(lambda: second.state_of("CTAS_TOTALS_1"), "RUNNING")
        insert(second, "(1, 'ann', 3)")
        eventually(lambda: totals(second), [("ann", 3)])


def test_databases_with_the_same_names_do_not_meet(tmp_path: Path) -> None:
    with opened(f"embedded:{tmp_path / 'a'}") as one, opened(f"embedded:{tmp_path / 'b'}") as other:
        for database, amount in ((one, 1), (other, 2)):
            database.execute(ORDERS + TOTALS)
            insert(database, f"(1, 'ann', {amount})")
            database.run_until_idle()
        assert (totals(one), totals(other)) == ([("ann", 1)], [("ann", 2)])


def test_a_query_that_is_held_elsewhere_is_started_when_it_is_given_back(address: str) -> None:
    with opened(address) as database:
        database.execute(ORDERS + TOTALS)
    broker = open_broker(address)
    lease = broker.acquire_lease("_confluent-ksql-default_query_CTAS_TOTALS_1")
    with opened(address) as database:
        assert database.state_of("CTAS_TOTALS_1") == "ERROR"
        assert database.failure_of("CTAS_TOTALS_1") is not None
        lease.release()
        eventually(lambda: database.state_of("CTAS_TOTALS_1"), "RUNNING")
    broker.close()


def test_a_script_is_run_in_the_place_of_its_statement(database: Database, tmp_path: Path) -> None:
    (tmp_path / "types.sql").write_text("DEFINE kind='INT';\nCREATE TYPE money AS ${kind};")
    (tmp_path / "all.sql").write_text("RUN SCRIPT 'types.sql';\nCREATE TYPE moneys AS ARRAY<money>;")
    answers = database.execute_all("RUN SCRIPT 'all.sql'; SHOW TYPES;")
    assert answers[-1].rows() == [("MONEY", "INTEGER"), ("MONEYS", "ARRAY<INTEGER>")]


def test_a_mistake_in_a_script_says_in_which_file_and_line_and_leaves_all_undone(
    database: Database, tmp_path: Path
) -> None:
    (tmp_path / "inner.sql").write_text("CREATE TYPE b AS INT;\nCREATE STREAM s AS SELECT * FROM nothing;")
    (tmp_path / "outer.sql").write_text("CREATE TYPE a AS INT;\nRUN SCRIPT 'inner.sql';")
    with pytest.raises(SqlError) as raised:
        database.execute("RUN SCRIPT 'outer.sql';")
    assert (raised.value.at, raised.value.place) == ("inner.sql", (2, 34))
    assert database.execute("SHOW TYPES;").rows() == []


@pytest.mark.parametrize(
    ("file", "code"), [("self.sql", "script.cycle"), ("no.sql", "script.file"), ("bad.sql", "script.text")]
)
def test_a_script_that_cannot_be_run_is_an_error(database: Database, tmp_path: Path, file: str, code: str) -> None:
    (tmp_path / "self.sql").write_text("RUN SCRIPT 'self.sql';")
    (tmp_path / "bad.sql").write_bytes(b"SHOW TYPES; -- \xff")
    with pytest.raises(SqlError) as raised:
        database.execute(f"RUN SCRIPT '{file}';")
    assert raised.value.code == code


def test_the_statements_of_a_script_in_a_script_are_executed_once(database: Database, tmp_path: Path) -> None:
    (tmp_path / "rows.sql").write_text("INSERT INTO orders VALUES (1, 'ann', 3);")
    script = ORDERS + "RUN SCRIPT 'rows.sql';"
    for _ in range(2):
        list(database.run_script(script, "shop.sql"))
    assert len(database.execute("SELECT * FROM orders;").rows()) == 1


def test_spool_is_for_a_shell(database: Database) -> None:
    with pytest.raises(SqlError) as raised:
        database.execute("SPOOL 'x';")
    assert raised.value.code == "spool.screen"


def test_a_question_is_planned_once_until_what_it_asks_about_is_another(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = []

    def counting(*given: Any) -> Any:
        planned.append(given)
        return planned_pull(*given)

    monkeypatch.setattr("headrace.database.questions.planned_pull", counting)
    database.execute(ORDERS + TOTALS)
    insert(database, "(1, 'ann', 3)")
    database.run_until_idle()
    ask = "SELECT total FROM totals WHERE customer = 'ann';"
    assert database.execute(ask).rows() == database.execute(ask).rows() == [(3,)]
    assert len(planned) == 1
    insert(database, "(2, 'ann', 4)")
    database.run_until_idle()
    assert database.execute(ask).rows() == [(7,)]
    assert len(planned) == 1
    database.execute("DROP TABLE totals;" + TOTALS.replace("SUM(amount)", "MAX(amount)"))
    database.run_until_idle()
    assert database.execute(ask).rows() == [(4,)]
    assert len(planned) == 2


def test_only_so_many_questions_are_remembered(database: Database) -> None:
    database.execute(ORDERS + TOTALS)
    for number in range(300):
        assert database.execute(f"SELECT total FROM totals WHERE customer = '{number}';").rows() == []
    assert len(database._asking._questions._asked) == 256
