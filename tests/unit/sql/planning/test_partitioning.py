"""PARTITION BY: another key."""

from __future__ import annotations

import pytest

from headrace.sql.planning import steps as s
from headrace.sql.text.format import shown
from tests.unit.sql.planning.session import Session, outline, step_of


def test_the_old_key_becomes_the_last_value_column() -> None:
    session = Session()
    assert session.sink("CREATE STREAM o AS SELECT * FROM r PARTITION BY name;") == (
        "`NAME` STRING KEY, `LENGTH` INTEGER, `ID` INTEGER"
    )
    assert outline(session.queries["CSAS_O_0"].physical_plan)[2] == "StreamSelectKey PartitionBy"


def test_the_key_that_there_is_needs_no_step() -> None:
    query = Session().query("CREATE STREAM o AS SELECT * FROM r PARTITION BY id;")
    assert "StreamSelectKey PartitionBy" not in outline(query.physical_plan)


def test_an_expression_is_a_column_from_then_on() -> None:
    session = Session()
    found = session.sink("CREATE STREAM o AS SELECT LEN(name) AS n, length FROM r PARTITION BY LEN(name);")
    assert found == "`N` INTEGER KEY, `LENGTH` INTEGER"
    assert session.sink("CREATE STREAM p AS SELECT * FROM r PARTITION BY LEN(name);") == (
        "`KSQL_COL_0` INTEGER KEY, `NAME` STRING, `LENGTH` INTEGER, `ID` INTEGER"
    )


def test_several_columns_are_a_key_in_their_order_and_need_another_format_than_kafka() -> None:
    session = Session()
    partition = "AS SELECT * FROM r PARTITION BY length, name;"
    assert session.refused(f"CREATE STREAM o {partition}").code == "format.single-column"
    found = session.sink(f"CREATE STREAM o WITH (KEY_FORMAT='JSON') {partition}")
    assert found == "`LENGTH` INTEGER KEY, `NAME` STRING KEY, `ID` INTEGER"


def test_partition_by_null_has_no_key_and_no_key_format() -> None:
    session = Session()
    query = session.query("CREATE STREAM o AS SELECT * FROM r PARTITION BY NULL;")
    assert str(session.catalog.sources["O"].schema) == "`NAME` STRING, `LENGTH` INTEGER, `ID` INTEGER"
    assert session.catalog.sources["O"].key_format.format.name == "NONE"
    select_key = step_of(query, s.StreamSelectKey)
    assert [shown(each) for each in select_key.key_expression] == ["null"]
    error = session.refused("CREATE STREAM p WITH (KEY_FORMAT='JSON') AS SELECT * FROM r PARTITION BY NULL;")
    assert error.code == "format.none"


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("SELECT id, length FROM r PARTITION BY name", "select.key-missing"),
        ("SELECT id AS other FROM r PARTITION BY other", "name.column"),
        ("SELECT * FROM t PARTITION BY name", "join.key"),
    ],
)
def test_what_cannot_be_a_key_is_refused(query: str, code: str) -> None:
    assert Session().refused(f"CREATE STREAM o AS {query};").code == code
