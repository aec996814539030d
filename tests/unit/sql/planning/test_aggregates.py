"""GROUP BY: groups, aggregates, windows, HAVING."""

from __future__ import annotations

import pytest

from headrace.sql.planning import steps as s
from headrace.sql.planning.schemas import schema_of, stored_aggregate
from headrace.sql.text.format import shown
from headrace.sql.tree.queries import Duration, Emit
from tests.unit.sql.planning.session import FUNCTIONS, Session, outline, step_of


def test_groups_by_the_key_need_no_repartition() -> None:
    query = Session().query("CREATE TABLE o AS SELECT id, COUNT(*) AS n FROM s GROUP BY id HAVING COUNT(*) > 1;")
    assert outline(query.physical_plan) == [
        "TableSink O",
        "TableSelect Aggregate/Project",
        "TableFilter Aggregate/HavingFilter",
        "StreamAggregate Aggregate/Aggregate",
        "StreamGroupByKey Aggregate/GroupBy",
        "StreamSelect Aggregate/Prepare",
        "StreamSource KsqlTopic/Source",
    ]
    assert query.query_id == "CTAS_O_0"


def aggregation(text: str) -> s.StreamAggregate:
    return step_of(Session().query(text), s.StreamAggregate)


def test_only_the_columns_that_are_needed_go_in_and_arguments_are_columns() -> None:
    step = aggregation("CREATE TABLE o AS SELECT name, LATEST(amount + 1, 2) AS n FROM s GROUP BY name;")
    prepare = step.source.source
    assert isinstance(prepare, s.StreamSelect)
    assert [f"{shown(each.expression)} {each.alias}" for each in prepare.select_expressions] == [
        "NAME NAME",
        "AMOUNT AMOUNT",
        "(AMOUNT + 1) KSQL_INTERNAL_COL_2",
        "2 KSQL_INTERNAL_COL_3",
    ]
    assert step.non_aggregate_columns == ("NAME", "AMOUNT")
    assert [shown(each) for each in step.aggregation_functions] == ["LATEST(KSQL_INTERNAL_COL_2, 2)"]


def test_the_store_has_the_states_and_the_rows_have_the_results() -> None:
    step = aggregation("CREATE TABLE o AS SELECT id, LATEST(amount, 2) AS n FROM s GROUP BY id;")
    below = schema_of(step.source, FUNCTIONS)
    kept = "`ID` INTEGER KEY, `ID` INTEGER, `AMOUNT` BIGINT, `KSQL_AGG_VARIABLE_0` "
    assert str(stored_aggregate(step, below, FUNCTIONS)) == f"{kept}ARRAY<STRUCT<`SEQ` BIGINT, `VAL` BIGINT>>"
    assert str(schema_of(step, FUNCTIONS)) == f"{kept}ARRAY<BIGINT>"


def test_the_order_of_groups_is_the_order_of_the_key_and_the_projection_names_it() -> None:
    session = Session()
    found = session.sink(
        "CREATE TABLE o WITH (KEY_FORMAT='JSON') AS"
        " SELECT COUNT(*) AS n, amount, name AS who FROM s GROUP BY name, amount;"
    )
    assert found == "`WHO` STRING KEY, `AMOUNT` BIGINT KEY, `N` BIGINT"
    group = step_of(session.queries["CTAS_O_0"], s.StreamGroupBy)
    assert group.internal_formats.key.format.name == "JSON"


@pytest.mark.parametrize(
    ("window", "columns"),
    [
        ("TUMBLING (SIZE 10 SECONDS)", ("TUMBLING", 10_000, Emit.CHANGES)),
        ("HOPPING (SIZE 10 SECONDS, ADVANCE BY 5 SECONDS)", ("HOPPING", 10_000, Emit.CHANGES)),
        ("SESSION (10 SECONDS)", ("SESSION", None, Emit.CHANGES)),
    ],
)
def test_windows_are_in_the_keys_of_the_result(window: str, columns: tuple[object, ...]) -> None:
    session = Session()
    session.run(f"CREATE TABLE o AS SELECT id, COUNT(*) AS n, windowstart AS w FROM s WINDOW {window} GROUP BY id;")
    source = session.catalog.sources["O"]
    assert str(source.schema) == "`ID` INTEGER KEY, `N` BIGINT, `W` BIGINT"
    assert source.windows is not None
    assert (source.windows.kind.value, source.windows.size_ms, source.windows.emit) == columns


def test_final_results_wait_for_nobody_by_default() -> None:
    text = "CREATE TABLE o AS SELECT id, COUNT(*) AS n FROM s WINDOW TUMBLING (SIZE 1 HOUR) GROUP BY id EMIT FINAL;"
    step = step_of(Session().query(text), s.StreamWindowedAggregate)
    assert (step.window_expression.grace, step.emit) == (Duration(0, "MILLISECONDS"), Emit.FINAL)


def test_a_key_less_stream_gets_the_default_key_format_when_it_is_grouped() -> None:
    session = Session("CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='s', KEY_FORMAT='NONE', VALUE_FORMAT='JSON');")
    session.run("CREATE TABLE o AS SELECT v, COUNT(*) AS n FROM s GROUP BY v;")
    assert session.catalog.sources["O"].key_format.format.name == "KAFKA"


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("SELECT id, name, COUNT(*) FROM s GROUP BY id", "agg.not-grouped", "NAME in SELECT is neither grouped"),
        ("SELECT id, COUNT(*) FROM s GROUP BY id HAVING name = ''", "agg.not-grouped", "NAME in HAVING"),
        ("SELECT id, name FROM s GROUP BY id, name", "agg.needs-function", "GROUP BY needs an aggregate"),
        ("SELECT id, COUNT(COUNT(*)) FROM s GROUP BY id", "agg.nested", "COUNT(COUNT())"),
        ("SELECT COUNT(*) FROM s GROUP BY COUNT(*)", "agg.nested", "GROUP BY cannot have aggregates"),
        ("SELECT id, COUNT(*) FROM s WHERE COUNT(*) > 1 GROUP BY id", "agg.nested", "WHERE cannot have aggregates"),
        ("SELECT * FROM s WHERE COUNT(*) > 1", "agg.nested", "WHERE cannot have aggregates, and COUNT is one"),
        ("SELECT * FROM s PARTITION BY COUNT(*)", "agg.nested", "PARTITION BY cannot have aggregates"),
        ("SELECT * FROM s JOIN t ON COUNT(*) = t.id", "agg.nested", "JOIN cannot have aggregates"),
        ("SELECT COUNT(*) FROM s GROUP BY id", "select.key-missing", "the grouping expression ID"),
        ("SELECT COUNT(*) FROM s", "agg.needs-group", "must have GROUP BY"),
        ("SELECT id FROM s GROUP BY id HAVING COUNT(*) > 1", "select.no-values", "no value columns"),
        ("SELECT id, id AS b, COUNT(*) FROM s GROUP BY id", "select.key-twice", "as `ID` and `B`"),
        ("SELECT id, COUNT(*) FROM s GROUP BY id HAVING COUNT(*)", "type.boolean", "must be BOOLEAN, not BIGINT"),
        ("SELECT id, name FROM s WINDOW SESSION (1 HOUR)", "agg.window-needs-group", "WINDOW needs GROUP BY"),
        ("SELECT id, COUNT(*) FROM s GROUP BY id EMIT FINAL", "agg.emit-final", "EMIT FINAL"),
        ("SELECT name, LATEST(id, 1) FROM t GROUP BY name", "agg.table", "LATEST cannot take back a row"),
        (
            "SELECT id, COUNT(*) FROM s WINDOW SESSION (1 HOUR) WHERE windowstart > 1 GROUP BY id",
            "agg.window-bounds",
            "the window bound WINDOWSTART",
        ),
        (
            "SELECT id, COUNT(windowend) FROM s WINDOW SESSION (1 HOUR) GROUP BY id",
            "agg.window-bounds",
            "the window bound WINDOWEND",
        ),
        (
            "SELECT name, COUNT(*) FROM t WINDOW SESSION (1 HOUR) GROUP BY name",
            "agg.window-on-table",
            "a table cannot be cut into windows",
        ),
    ],
)
def test_what_cannot_be_grouped_is_refused(query: str, code: str, message: str) -> None:
    error = Session().refused(f"CREATE TABLE o AS {query};")
    assert error.code == code
    assert message in error.message


def test_a_state_that_the_format_cannot_carry_is_refused() -> None:
    session = Session("CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='DELIMITED');")
    error = session.refused("CREATE TABLE o AS SELECT id, LATEST(v, 1) AS l FROM s GROUP BY id;")
    assert error.code == "format.type"
    assert "LATEST(V, 1)" in error.message


def test_values_in_the_format_kafka_cannot_be_grouped_or_joined() -> None:
    session = Session("CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='KAFKA');")
    assert session.refused("CREATE TABLE o AS SELECT v, COUNT(*) FROM s GROUP BY v;").code == "format.not-with"


@pytest.mark.parametrize(
    ("window", "wrong", "message"),
    [
        ("HOPPING (SIZE 10 SECONDS, ADVANCE BY 1 MINUTE)", "1 MINUTE", "advance must lie between 1 ms and the window"),
        ("TUMBLING (SIZE 0 SECONDS)", "0 SECONDS", "window size must be larger than zero"),
        ("TUMBLING (SIZE -1 HOURS)", "-1 HOURS", "window size must be larger than zero"),
        ("SESSION (-1 HOURS)", "-1 HOURS", "gap cannot be negative"),
        ("TUMBLING (SIZE 1 HOUR, GRACE PERIOD -1 HOURS)", "-1 HOURS", "grace cannot be negative"),
        ("TUMBLING (SIZE 1 HOUR, RETENTION 1 MINUTE)", "1 MINUTE", "RETENTION is too short"),
    ],
)
def test_lengths_of_time_that_no_window_has_are_found_by_planning(window: str, wrong: str, message: str) -> None:
    text = f"CREATE TABLE o AS SELECT id, COUNT(*) AS n FROM s WINDOW {window} GROUP BY id;"
    error = Session().refused(text)

    assert error.code == "agg.window"
    assert error.message.startswith(message)
    assert error.offset is not None
    assert text[error.offset :].partition(")")[0] == wrong


def test_an_aggregate_that_cannot_merge_is_not_for_sessions() -> None:
    query = "CREATE TABLE o AS SELECT id, LATEST(amount, 2) AS n FROM s WINDOW {} GROUP BY id;"

    Session().run(query.format("TUMBLING (SIZE 10 SECONDS)"))
    error = Session().refused(query.format("SESSION (10 SECONDS)"))

    assert (error.code, error.message) == ("agg.session", "LATEST cannot merge two states, as WINDOW SESSION needs it")
