"""Joins: steps, keys, formats, and what is refused."""

from __future__ import annotations

import pytest

from headrace.sql.planning import steps as s
from headrace.sql.text.format import shown
from headrace.sql.tree.queries import JoinKind
from tests.unit.sql.planning.session import SOURCES, Session, outline, step_of


def test_streams_are_renamed_then_joined() -> None:
    session = Session()
    query = session.query("CREATE STREAM o AS SELECT s.id, s.name, length FROM s JOIN r WITHIN 1 HOUR ON s.id = r.id;")
    assert outline(query.physical_plan) == [
        "StreamSink O",
        "StreamSelect Project",
        "StreamStreamJoin Join",
        "StreamSelect PrependAliasLeft",
        "StreamSource KafkaTopic_Left/Source",
        "StreamSelect PrependAliasRight",
        "StreamSource KafkaTopic_Right/Source",
    ]
    assert str(session.catalog.sources["O"].schema) == "`S_ID` INTEGER KEY, `S_NAME` STRING, `LENGTH` INTEGER"
    join = step_of(query, s.StreamStreamJoin)
    assert (join.key_col_name, join.before_millis, join.after_millis, join.grace_millis) == (
        "S_ID",
        3600000,
        3600000,
        None,
    )


def test_a_side_that_is_not_keyed_by_its_column_is_given_that_key() -> None:
    query = Session().query(
        "CREATE STREAM o AS SELECT * FROM s JOIN r WITHIN (1 HOUR, 2 HOURS) GRACE PERIOD 1 MINUTE ON s.name = r.name;"
    )
    assert [each for each in outline(query.physical_plan) if "Keyed" in each] == [
        "StreamSelectKey LeftSourceKeyed",
        "StreamSelectKey RightSourceKeyed",
    ]
    join = step_of(query, s.StreamStreamJoin)
    assert (join.before_millis, join.after_millis, join.grace_millis) == (3600000, 7200000, 60000)


def key_of(select: str, join: str) -> str:
    session = Session()
    session.run(f"CREATE STREAM o AS SELECT {select} FROM s {join};")
    return ", ".join(f"{column.name}" for column in session.catalog.sources["O"].schema.key)


@pytest.mark.parametrize(
    ("select", "join", "key"),
    [
        ("*", "JOIN r WITHIN 1 HOUR ON s.id = r.id", "S_ID"),
        ("r.id, amount", "JOIN r WITHIN 1 HOUR ON s.id = r.id", "R_ID"),
        ("r.id AS k, amount", "LEFT JOIN r WITHIN 1 HOUR ON s.id = r.id", "K"),
        ("*", "FULL JOIN r WITHIN 1 HOUR ON s.id = r.id", "ROWKEY"),
        ("rowkey AS k, amount", "FULL JOIN r WITHIN 1 HOUR ON s.id = r.id", "K"),
        ("rowkey, amount", "JOIN r WITHIN 1 HOUR ON s.id + 1 = r.id + 1", "ROWKEY"),
        ("s.id, amount", "JOIN r WITHIN 1 HOUR ON s.id = r.id + 1", "S_ID"),
        ("t.id, amount", "JOIN r WITHIN 1 HOUR ON s.id = r.id JOIN t ON r.id = t.id", "T_ID"),
        ("t.id, amount", "JOIN r WITHIN 1 HOUR ON s.id = r.id JOIN t ON t.id = length", "T_ID"),
    ],
)
def test_the_first_selected_column_that_equals_the_key_names_it(select: str, join: str, key: str) -> None:
    assert key_of(select, join) == key


@pytest.mark.parametrize(
    ("select", "join", "message"),
    [
        ("amount", "JOIN r WITHIN 1 HOUR ON s.id = r.id", "S.ID or R.ID"),
        ("s.id, r.id, amount", "FULL JOIN r WITHIN 1 HOUR ON s.id = r.id", "the join expression ROWKEY"),
        ("r.id, amount", "JOIN r WITHIN 1 HOUR ON s.id = r.id JOIN t ON t.id = length", "R.LENGTH or T.ID"),
    ],
)
def test_a_projection_without_the_key_is_refused(select: str, join: str, message: str) -> None:
    with pytest.raises(Exception, match="the key of O is missing") as caught:
        key_of(select, join)
    assert message in str(caught.value)


def test_a_made_up_key_avoids_the_names_of_columns() -> None:
    session = Session(
        "CREATE STREAM s (rowkey INT KEY, a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
        "CREATE STREAM r (rowkey_1 INT KEY, b INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON');"
    )
    found = session.sink("CREATE STREAM o AS SELECT * FROM s FULL JOIN r WITHIN 1 HOUR ON s.rowkey = r.rowkey_1;")
    assert found.startswith("`ROWKEY_2` INTEGER KEY, `S_ROWKEY` INTEGER")


def test_a_stream_is_joined_to_the_key_of_a_table() -> None:
    query = Session().query("CREATE STREAM o AS SELECT s.id, other FROM s LEFT JOIN t ON t.id = s.id;")
    join = step_of(query, s.StreamTableJoin)
    assert (join.join_type, join.key_col_name) == (JoinKind.LEFT, "S_ID")


def test_tables_are_joined_by_their_keys_or_by_a_foreign_key() -> None:
    session = Session()
    by_key = session.query("CREATE TABLE o AS SELECT t.id, place FROM t JOIN u ON t.id = u.id;")
    assert step_of(by_key, s.TableTableJoin).key_col_name == "T_ID"
    foreign = session.query("CREATE TABLE p AS SELECT t.id, place FROM t JOIN u ON t.other = u.id;")
    join = step_of(foreign, s.ForeignKeyTableTableJoin)
    assert shown(join.left_join_expression) == "T_OTHER"
    assert str(session.catalog.sources["P"].schema) == "`T_ID` INTEGER KEY, `PLACE` STRING"


def test_a_join_whose_key_is_joined_again_is_not_written_anew() -> None:
    query = Session().query("CREATE STREAM o AS SELECT * FROM s JOIN t ON s.id = t.id JOIN u ON t.id = u.id;")
    assert outline(query.physical_plan)[2:] == [
        "StreamTableJoin Join",
        "StreamTableJoin L_Join",
        "StreamSelect PrependAliasL_Left",
        "StreamSource KafkaTopic_L_Left/Source",
        "TableSelect PrependAliasL_Right",
        "TableSource KafkaTopic_L_Right/Source",
        "TableSelect PrependAliasRight",
        "TableSource KafkaTopic_Right/Source",
    ]


def formats_of(left: str, right: str, condition: str = "s.id = r.id") -> tuple[list[str], str]:
    """Which sides are given another key, and the format of both."""
    session = Session(
        f"CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='s', KEY_FORMAT='{left}', VALUE_FORMAT='JSON');"
        f"CREATE STREAM r (id INT KEY, v INT) WITH (KAFKA_TOPIC='r', KEY_FORMAT='{right}', VALUE_FORMAT='JSON');"
    )
    query = session.query(f"CREATE STREAM o AS SELECT * FROM s JOIN r WITHIN 1 HOUR ON {condition};")
    join = step_of(query, s.StreamStreamJoin)
    moved = [each.split()[1] for each in outline(join) if "Keyed" in each]
    return moved, join.left_internal_formats.key.format.name


@pytest.mark.parametrize(
    ("left", "right", "condition", "moved", "format_"),
    [
        ("KAFKA", "KAFKA", "s.id = r.id", [], "KAFKA"),
        ("KAFKA", "JSON", "s.id = r.id", ["RightSourceKeyed"], "KAFKA"),
        ("KAFKA", "JSON", "s.v = r.id", ["LeftSourceKeyed"], "JSON"),
        ("KAFKA", "JSON", "s.v = r.v", ["LeftSourceKeyed", "RightSourceKeyed"], "KAFKA"),
        ("AVRO", "AVRO", "s.id = r.id", ["LeftSourceKeyed", "RightSourceKeyed"], "AVRO"),
    ],
)
def test_both_sides_get_one_key_format(left: str, right: str, condition: str, moved: list[str], format_: str) -> None:
    assert formats_of(left, right, condition) == (moved, format_)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT * FROM s JOIN r ON s.id = r.id", "join.within"),
        ("SELECT * FROM s JOIN t WITHIN 1 HOUR ON s.id = t.id", "join.within"),
        ("SELECT * FROM s JOIN t ON s.id = t.other", "join.key"),
        ("SELECT * FROM s FULL JOIN t ON s.id = t.id", "join.kind"),
        ("SELECT * FROM t JOIN s ON s.id = t.id", "join.key"),
        ("SELECT * FROM t JOIN u ON t.id = u.place", "join.key"),
        ("SELECT * FROM t RIGHT JOIN u ON t.other = u.id", "join.key"),
        ("SELECT * FROM t JOIN u ON t.name = u.id", "join.key"),
        ("SELECT * FROM s JOIN r WITHIN 1 HOUR ON s.id = r.name", "join.key"),
        ("SELECT * FROM s JOIN r WITHIN 1 HOUR ON s.id > r.id", "join.condition"),
        ("SELECT * FROM s JOIN r WITHIN 1 HOUR ON s.id = r.id AND s.name = r.name", "join.condition"),
        ("SELECT * FROM s JOIN r WITHIN 1 HOUR ON s.id = s.amount", "join.condition"),
        ("SELECT * FROM s JOIN r WITHIN 1 HOUR ON s.id = 1", "join.condition"),
        ("SELECT * FROM s JOIN r WITHIN 1 HOUR ON s.id + r.id = r.id", "join.condition"),
        ("SELECT * FROM s JOIN t ON s.id = t.id JOIN u ON s.id = t.id", "join.condition"),
        ("SELECT * FROM s JOIN s AS s2 WITHIN 1 HOUR ON s.id = s2.id", "join.sources"),
        ("SELECT id FROM s JOIN r WITHIN 1 HOUR ON s.id = r.id", "name.ambiguous"),
    ],
)
def test_what_cannot_be_joined_is_refused(query: str, code: str) -> None:
    assert Session().refused(f"CREATE STREAM o AS {query};").code == code


def test_topics_with_other_numbers_of_partitions_are_not_joined() -> None:
    session = Session(SOURCES, s=4, r=2, t=4, u=3)
    error = session.refused("CREATE STREAM o AS SELECT * FROM s JOIN r WITHIN 1 HOUR ON s.id = r.id;")
    assert error.code == "join.partitions"
    assert "S has 4, R has 2" in error.message
    assert session.query("CREATE TABLE p AS SELECT t.id, place FROM t JOIN u ON t.other = u.id;")


def test_windowed_sources_are_joined_with_windowed_ones_of_their_kind() -> None:
    session = Session(
        "CREATE STREAM a (k INT KEY, v INT) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON', WINDOW_TYPE='SESSION');"
        "CREATE STREAM b (k INT KEY, v INT)"
        " WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 HOUR');"
        "CREATE STREAM c (k INT KEY, v INT) WITH (KAFKA_TOPIC='c', VALUE_FORMAT='JSON');"
    )
    for other in ("b", "c"):
        error = session.refused(f"CREATE STREAM o AS SELECT * FROM a JOIN {other} WITHIN 1 HOUR ON a.k = {other}.k;")
        assert error.code == "join.windows"


@pytest.mark.parametrize("within", ["-1 SECONDS", "1 SECOND GRACE PERIOD -1 SECONDS"])
def test_rows_are_not_joined_within_a_negative_time(within: str) -> None:
    error = Session().refused(f"CREATE STREAM o AS SELECT s.id, r.length FROM s JOIN r WITHIN {within} ON s.id = r.id;")

    assert error.code == "join.within"
    assert error.offset is not None
