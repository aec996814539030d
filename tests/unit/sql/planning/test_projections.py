"""SELECT: names, keys, and what is refused."""

from __future__ import annotations

import pytest

from headrace.sql.planning import steps as s
from headrace.sql.text.format import shown
from tests.unit.sql.planning.session import Session, outline, step_of


def test_a_projection_is_a_select_between_source_and_sink() -> None:
    query = Session().query("CREATE STREAM o AS SELECT id, amount + 1 AS more FROM s WHERE amount > 3;")
    assert outline(query.physical_plan) == [
        "StreamSink O",
        "StreamSelect Project",
        "StreamFilter WhereFilter",
        "StreamSource KsqlTopic/Source",
    ]
    assert (query.query_id, query.sources, query.sink) == ("CSAS_O_0", ("S",), "O")


def test_key_columns_leave_the_value_and_the_step_names_them() -> None:
    select = step_of(Session().query("CREATE STREAM o AS SELECT name, id AS k FROM s;"), s.StreamSelect)
    assert select.key_column_names == ("K",)
    assert [shown(each.expression) for each in select.select_expressions] == ["NAME"]


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ("id, amount + 1, 2", "`ID` INTEGER KEY, `KSQL_COL_0` BIGINT, `KSQL_COL_1` INTEGER"),
        ("id, place->y, place->y", "`ID` INTEGER KEY, `Y` STRING, `Y_1` STRING"),
        ("id, place->*", "`ID` INTEGER KEY, `X` INTEGER, `Y` STRING"),
        ("s.*, amount AS more", None),
        ("id, AS_VALUE(id) AS again", "`ID` INTEGER KEY, `AGAIN` INTEGER"),
        ("rowtime AS t, id", "`ID` INTEGER KEY, `T` BIGINT"),
    ],
)
def test_columns_without_a_name_get_one(select: str, columns: str | None) -> None:
    found = Session().sink(f"CREATE STREAM o AS SELECT {select} FROM s;")
    everything = "`ID` INTEGER KEY, `NAME` STRING, `AMOUNT` BIGINT, `TAGS` ARRAY<STRING>,"
    everything += " `PLACE` STRUCT<`X` INTEGER, `Y` STRING>, `MORE` BIGINT"
    assert found == (columns or everything)


def test_generated_names_skip_those_that_a_source_has() -> None:
    session = Session("CREATE STREAM s (k INT KEY, KSQL_COL_1 INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');")
    found = session.sink("CREATE STREAM o AS SELECT k, 1, 2, 3 FROM s;")
    assert found == "`K` INTEGER KEY, `KSQL_COL_0` INTEGER, `KSQL_COL_2` INTEGER, `KSQL_COL_3` INTEGER"


def test_several_keys_keep_the_order_of_the_source() -> None:
    session = Session("CREATE STREAM s (a INT KEY, b STRING KEY, v INT) WITH (KAFKA_TOPIC='s', FORMAT='JSON');")
    assert session.sink("CREATE STREAM o AS SELECT v, b, a FROM s;") == "`A` INTEGER KEY, `B` STRING KEY, `V` INTEGER"


@pytest.mark.parametrize(
    ("select", "code", "message"),
    [
        ("name", "select.key-missing", "the projection must contain the key column ID"),
        ("id", "select.no-values", "has no value columns"),
        ("id, id AS b, name", "select.key-twice", "the key column `ID` is in the projection more than once, as `B`"),
        ("id, name AS id", "name.duplicate", "two columns `ID`"),
        ("id, name, amount AS name", "name.duplicate", "two columns `NAME`"),
        ("id, rowtime", "select.reserved", "`ROWTIME` is a reserved name"),
        ("id, name AS rowoffset", "ddl.reserved-name", "cannot be given to another column"),
        ("id, nmae", "name.column", "the column NMAE in SELECT cannot be resolved"),
        ("id, x.name", "name.source", "X is no stream, table or alias of this query"),
        ("id, x.*", "name.source", "X is no stream, table or alias of this query"),
        ("id, name->*", "type.struct", "NAME is STRING"),
        ("id, NULL AS n", "type.null", "the type of NULL is not known here"),
        ("id, nope(name)", "name.function", "no function `NOPE`"),
    ],
)
def test_what_cannot_be_selected_is_refused(select: str, code: str, message: str) -> None:
    error = Session().refused(f"CREATE STREAM o AS SELECT {select} FROM s;")
    assert error.code == code
    assert message in error.message


def test_a_misspelt_column_is_shown_its_near_name() -> None:
    assert "Did you mean NAME?" in str(Session().refused("CREATE STREAM o AS SELECT id, nmae FROM s;"))


@pytest.mark.parametrize(
    ("where", "code"), [("amount", "type.boolean"), ("amount = 'a'", "type.compare"), ("nope = 1", "name.column")]
)
def test_a_condition_must_be_boolean(where: str, code: str) -> None:
    assert Session().refused(f"CREATE STREAM o AS SELECT * FROM s WHERE {where};").code == code


def test_rowtime_is_compared_with_dates_as_people_write_them() -> None:
    query = Session().query("CREATE STREAM o AS SELECT * FROM s WHERE rowtime > '1970-01-02' AND rowtime < '1971';")
    condition = step_of(query, s.StreamFilter)
    assert shown(condition.filter_expression) == "((ROWTIME > 86400000) AND (ROWTIME < 31536000000))"


def test_table_functions_are_columns_of_a_step_before_the_projection() -> None:
    query = Session().query("CREATE STREAM o AS SELECT id, EXPLODE(tags) AS tag, LEN(EXPLODE(tags)) AS n FROM s;")
    select = step_of(query, s.StreamSelect)
    assert isinstance(select.source, s.StreamFlatMap)
    assert [shown(each) for each in select.source.table_functions] == ["EXPLODE(TAGS)", "EXPLODE(TAGS)"]
    assert [shown(each.expression) for each in select.select_expressions] == ["KSQL_SYNTH_0", "LEN(KSQL_SYNTH_1)"]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, EXPLODE(ARRAY[EXPLODE(tags)]) FROM s",
        "SELECT id, CASE WHEN true THEN EXPLODE(tags) END FROM s",
        "SELECT id, EXPLODE(ARRAY[id]), COUNT(*) FROM s GROUP BY id",
        "SELECT id, EXPLODE(ARRAY[id]) FROM t",
        "SELECT * FROM s WHERE EXPLODE(ARRAY[1]) = 1",
        "SELECT * FROM s PARTITION BY EXPLODE(tags)",
        "SELECT id, COUNT(*) FROM s GROUP BY id HAVING EXPLODE(ARRAY[1]) = 1",
    ],
)
def test_table_functions_are_refused_where_they_make_no_sense(query: str) -> None:
    assert Session().refused(f"CREATE STREAM o AS {query};").code == "agg.table-function"


def test_a_stream_is_not_a_table() -> None:
    error = Session().refused("CREATE TABLE o AS SELECT * FROM s;")
    assert (error.code, error.hint) == ("ddl.result-kind", "Write CREATE STREAM O AS ...")


def test_a_query_that_keeps_running_has_no_limit() -> None:
    assert Session().refused("CREATE STREAM o AS SELECT * FROM s LIMIT 3;").code == "pull.clause"


def test_a_time_is_not_compared_with_any_text() -> None:
    error = Session().refused("CREATE STREAM o AS SELECT * FROM s WHERE rowtime > 'soon';")
    assert (error.code, "'soon'" in error.message) == ("type.timestamp", True)
