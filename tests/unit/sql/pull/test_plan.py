"""Pull queries: which rows are read, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from headrace.sql import SqlError, parse
from headrace.sql.planning import steps as s
from headrace.sql.pull.plan import PullPlan, planned_pull, planned_transient
from headrace.sql.pull.where import KeyLookup, RangeScan
from headrace.sql.text.format import shown
from headrace.sql.tree.statements import Select
from tests.unit.sql.planning.session import Session

TABLES = """
CREATE STREAM s (id STRING KEY, name STRING, amount INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE TABLE n AS SELECT id, COUNT(*) AS n FROM s GROUP BY id HAVING COUNT(*) > 1;
CREATE TABLE i AS SELECT amount, COUNT(*) AS n FROM s GROUP BY amount;
CREATE TABLE m WITH (KEY_FORMAT='JSON') AS SELECT name, amount, COUNT(*) AS n FROM s GROUP BY name, amount;
CREATE TABLE w AS SELECT id, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id;
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE TABLE u (id INT PRIMARY KEY, w INT) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');
CREATE TABLE j AS SELECT t.id AS id, v, w FROM t JOIN u ON t.id = u.id;
CREATE TABLE c AS SELECT * FROM t;
CREATE SOURCE TABLE r (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON');
"""
NO_SCAN = {"ksql.query.pull.table.scan.enabled": "false"}


def pulled(text: str, **settings: Any) -> PullPlan:
    session = Session(TABLES, settings=settings)
    (parsed,) = parse(text)
    assert isinstance(parsed.statement, Select)
    return planned_pull(parsed.statement.query, session.catalog, session.queries, session.environment)


@pytest.mark.parametrize(
    ("where", "lookup"),
    [
        ("n WHERE id = 'a'", (KeyLookup(("a",)),)),
        ("n WHERE 'a' = id AND n > 3", (KeyLookup(("a",)),)),
        ("n WHERE id IN ('a', 'b', 'a')", (KeyLookup(("a",)), KeyLookup(("b",)))),
        ("n WHERE id = 'a' OR (id = 'b' AND n = 1)", (KeyLookup(("a",)), KeyLookup(("b",)))),
        ("i WHERE amount = 1 + 2", (KeyLookup((3,)),)),
        ("m WHERE amount = 1 AND name = 'a'", (KeyLookup(("a", 1)),)),
        ("m WHERE name IN ('a', 'b') AND amount = 1", (KeyLookup(("a", 1)), KeyLookup(("b", 1)))),
        ("n WHERE id > 'a'", RangeScan(">", "a")),
        ("n WHERE 'a' > id", RangeScan("<", "a")),
        ("n WHERE id >= 'a' AND n = 2", RangeScan(">=", "a")),
        ("n", None),
        ("n WHERE n > 3", None),
        ("n WHERE id = 'a' OR n = 1", None),
        ("n WHERE id > 'a' OR id = 'b'", None),
        ("n WHERE id <> 'a'", None),
        ("n WHERE id = UCASE(id)", None),
        ("n WHERE id LIKE 'a%'", None),
        ("n WHERE NOT id = 'a'", None),
        ("i WHERE amount > 1", None),
        ("m WHERE name = 'a'", None),
    ],
)
def test_rows_are_looked_up_by_key_where_the_condition_says_the_key(where: str, lookup: object) -> None:
    assert pulled(f"SELECT * FROM {where.replace('UCASE(id)', 'AS_VALUE(id)')};").lookup == lookup


def test_bounds_limit_the_windows_that_are_looked_at() -> None:
    plan = pulled("SELECT * FROM w WHERE id = 'a' AND windowstart >= 10 AND windowend < '1970-01-01T00:00:20';")
    assert isinstance(plan.lookup, tuple)
    (lookup,) = plan.lookup
    assert isinstance(lookup, KeyLookup)
    assert lookup.windows is not None
    fits = [lookup.windows.contains(start, end) for start, end in ((10, 19_999), (9, 100), (10, 20_000))]
    assert fits == [True, False, False]


@pytest.mark.parametrize(
    ("table", "store", "steps"),
    [
        ("n", "Aggregate-Aggregate-Materialize", [s.StreamAggregate, s.TableFilter, s.TableSelect]),
        ("w", "Aggregate-Aggregate-Materialize", [s.StreamWindowedAggregate, s.TableSelect]),
        ("j", "Project-Last", []),
        ("c", "KsqlTopic-Reduce", [s.TableSource, s.TableSelect]),
        ("r", "KsqlTopic-Reduce", [s.TableSource, s.TableSelect]),
    ],
)
def test_rows_are_read_from_the_last_store_and_go_through_the_steps_after_it(
    table: str, store: str, steps: list[type]
) -> None:
    rows = pulled(f"SELECT * FROM {table};").rows
    assert (rows.store, [type(each) for each in rows.steps]) == (store, steps)
    assert rows.is_windowed == (table == "w")


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("* FROM n", "`ID` STRING KEY, `N` BIGINT"),
        ("* FROM w", "`ID` STRING KEY, `WINDOWSTART` BIGINT KEY, `WINDOWEND` BIGINT KEY, `N` BIGINT"),
        ("n, id, rowtime FROM n", "`N` BIGINT, `ID` STRING KEY, `ROWTIME` BIGINT"),
        ("id AS k, n + 1 FROM n", "`K` STRING, `KSQL_COL_0` BIGINT"),
    ],
)
def test_keys_are_marked_in_the_answer(query: str, columns: str) -> None:
    assert str(pulled(f"SELECT {query};").columns) == columns


def test_the_condition_is_kept_for_the_rows_that_are_found() -> None:
    plan = pulled("SELECT * FROM n WHERE id IN ('a', 'b') AND n BETWEEN 1 AND 2;")
    assert plan.condition is not None
    assert shown(plan.condition) == "((ID IN ('a', 'b')) AND ((N >= 1) AND (N <= 2)))"


@pytest.mark.parametrize(
    ("query", "code", "settings"),
    [
        ("* FROM t", "pull.not-queryable", {}),
        ("* FROM t JOIN u ON t.id = u.id", "pull.clause", {}),
        ("* FROM n GROUP BY id", "pull.clause", {}),
        ("* FROM n WINDOW SESSION (1 HOUR)", "pull.clause", {}),
        ("*, n FROM n", "pull.clause", {}),
        ("rowpartition FROM n", "pull.clause", {}),
        ("* FROM n WHERE rowoffset = 1", "pull.clause", {}),
        ("* FROM n LIMIT 1", "pull.clause", {"ksql.query.pull.limit.clause.enabled": "false"}),
        ("* FROM n WHERE id = 1", "type.compare", {}),
        ("* FROM n WHERE windowstart = 1", "name.column", {}),
        ("* FROM n WHERE n", "type.boolean", {}),
        ("* FROM i WHERE amount IN ('1', 2)", "pull.where", {}),
        ("* FROM i WHERE amount IN (NULL)", "pull.where", {}),
        ("* FROM w WHERE id = 'a' AND windowstart > 1 AND windowstart > 2", "pull.where", {}),
        ("* FROM w WHERE id = 'a' AND windowstart = 1 AND windowstart < 2", "pull.where", {}),
        ("* FROM n WHERE n LIKE 'a'", "type.like", {}),
        ("* FROM n WHERE 'a' LIKE 'a'", "type.like", NO_SCAN),
        ("* FROM n", "pull.where", NO_SCAN),
        ("* FROM n WHERE n = 1", "pull.where", NO_SCAN),
        ("* FROM n WHERE id <> 'a'", "pull.where", NO_SCAN),
        ("* FROM n WHERE id > 'a' AND id < 'b'", "pull.where", NO_SCAN),
        ("* FROM n WHERE id = AS_VALUE(id)", "pull.where", NO_SCAN),
        ("* FROM n WHERE AS_VALUE(id) = 'a'", "pull.where", NO_SCAN),
        ("* FROM m WHERE name = 'a'", "pull.where", NO_SCAN),
        ("* FROM i WHERE amount > 1", "pull.where", NO_SCAN),
        ("* FROM n WHERE id > 'a'", "pull.where", {**NO_SCAN, "ksql.query.pull.range.scan.enabled": "false"}),
    ],
)
def test_what_cannot_be_answered_at_once_is_refused(query: str, code: str, settings: dict[str, str]) -> None:
    with pytest.raises(SqlError) as caught:
        pulled(f"SELECT {query};", **settings)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("SELECT | COUNT(*) FROM n;", "pull.clause", "a query that is answered once cannot have aggregates"),
        ("SELECT id, 1 + | COUNT(n) FROM n WHERE id = 'a';", "pull.clause", "and COUNT is one"),
        ("SELECT CASE WHEN | COUNT(*) > 1 THEN 1 END FROM n;", "pull.clause", "and COUNT is one"),
        ("SELECT * FROM n WHERE | COUNT(n) > 1;", "agg.nested", "WHERE cannot have aggregates, and COUNT is one"),
        ("SELECT * FROM n WHERE id IN (| LATEST(id, 1));", "agg.nested", "and LATEST is one"),
        (
            "SELECT * FROM n WHERE id = | EXPLODE(ARRAY['a']);",
            "agg.table-function",
            "WHERE cannot have table functions",
        ),
        ("SELECT | EXPLODE(ARRAY[n]) FROM n;", "agg.table-function", "EXPLODE cannot be used on a table"),
        ("SELECT * FROM n GROUP BY | id;", "pull.clause", "cannot have GROUP BY"),
        ("SELECT * FROM n HAVING | n > 1;", "pull.clause", "cannot have HAVING"),
        ("SELECT * FROM n PARTITION BY | n;", "pull.clause", "cannot have PARTITION BY"),
        ("SELECT * FROM w WINDOW | SESSION (1 HOUR);", "pull.clause", "cannot have WINDOW"),
        ("SELECT * FROM n JOIN | i ON n.n = i.n;", "pull.clause", "cannot have JOIN"),
        ("SELECT n, | * FROM n;", "pull.clause", "* must be alone"),
        ("SELECT * FROM n | LIMIT -1;", "pull.clause", "a number of rows is not negative"),
        ("SELECT * FROM | t;", "pull.not-queryable", "the table `T` keeps no rows, so it cannot be asked"),
    ],
)
def test_what_is_refused_is_shown_where_it_stands(query: str, code: str, message: str) -> None:
    with pytest.raises(SqlError, match=re.escape(message)) as caught:
        pulled(query.replace("| ", ""))
    assert (caught.value.code, caught.value.offset) == (code, query.index("|"))


def test_a_stream_is_not_aggregated_at_once_either() -> None:
    session = Session(TABLES)
    (parsed,) = parse("SELECT COUNT(*) FROM s;")
    assert isinstance(parsed.statement, Select)
    with pytest.raises(SqlError, match="cannot have aggregates, and COUNT is one") as caught:
        planned_transient(parsed.statement.query, session.catalog, session.environment)
    assert caught.value.code == "pull.clause"
