"""CREATE STREAM and TABLE over a topic: what a source is, and what cannot be one."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from headrace.sql import SqlError, parse
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.creating import declared_source
from headrace.sql.catalog.sources import Source, TimestampColumn, WindowedKeys
from headrace.sql.formats.format_info import Feature
from headrace.sql.tree.queries import WindowKind
from headrace.sql.tree.statements import CreateSource
from headrace.sql.tree.types import INTEGER, Field, Struct

TOPIC = "KAFKA_TOPIC='t'"


def declared(text: str, catalog: Catalog | None = None, settings: Mapping[str, str] | None = None) -> Source:
    (parsed,) = parse(text)
    assert isinstance(parsed.statement, CreateSource)
    try:
        return declared_source(parsed.statement, catalog or Catalog(), settings or {})
    except SqlError as error:
        error.locate(text)
        raise


def test_a_stream_has_its_columns_in_the_order_of_the_statement() -> None:
    source = declared(f"CREATE STREAM s (v INT, k STRING KEY, `h` BYTES HEADER('x')) WITH ({TOPIC}, FORMAT='JSON');")
    assert str(source.schema) == "`V` INTEGER, `K` STRING KEY, `h` BYTES HEADER('x')"
    assert [column.name for column in source.schema.key] == ["K"]
    assert source.key_format.features == {Feature.UNWRAP}
    assert source.value_format.features == frozenset()


def test_registered_types_are_what_they_stand_for() -> None:
    catalog = Catalog().with_type("POINT", Struct((Field("X", INTEGER),)))
    source = declared(f"CREATE STREAM s (p ARRAY<point>) WITH ({TOPIC}, FORMAT='JSON');", catalog)
    assert str(source.schema) == "`P` ARRAY<STRUCT<`X` INTEGER>>"


def test_time_windows_and_formats_are_taken_from_the_properties() -> None:
    source = declared(
        f"CREATE TABLE t (k STRING PRIMARY KEY, ts STRING, v INT) WITH ({TOPIC}, value_format='delimited',"
        " VALUE_DELIMITER='tab', TIMESTAMP='ts', TIMESTAMP_FORMAT='yyyy',"
        " WINDOW_TYPE='Tumbling', WINDOW_SIZE='1 minute');"
    )
    assert (source.key_format.format.name, source.value_format.format.name) == ("KAFKA", "DELIMITED")
    assert source.value_format.properties == {"delimiter": "tab"}
    assert source.timestamp == TimestampColumn("TS", "yyyy")
    assert source.windows == WindowedKeys(WindowKind.TUMBLING, 60_000)


@pytest.mark.parametrize(
    ("said", "features"),
    [("", set()), (", WRAP_SINGLE_VALUE=false", {Feature.UNWRAP}), (", WRAP_SINGLE_VALUE='true'", {Feature.WRAP})],
)
def test_a_single_value_is_wrapped_unless_told_otherwise(said: str, features: set[Feature]) -> None:
    source = declared(f"CREATE STREAM s (v INT) WITH ({TOPIC}, VALUE_FORMAT='JSON'{said});")
    assert source.value_format.features == features


def test_defaults_come_from_the_settings() -> None:
    names = {"ksql.persistence.default.format.key": "JSON", "ksql.persistence.default.format.value": "AVRO"}
    settings = {**names, "ksql.persistence.wrap.single.values": "false"}
    source = declared(f"CREATE STREAM my_s (k INT KEY, v INT) WITH ({TOPIC});", settings=settings)
    assert (source.key_format.format.name, source.value_format.format.name) == ("JSON", "AVRO")
    assert source.value_format.features == {Feature.UNWRAP}


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("CREATE STREAM s (a INT) WITH (FORMAT='JSON');", "ddl.topic", "the KAFKA_TOPIC is missing"),
        ("CREATE STREAM s (a INT) WITH (KAFKA_TOPC='t');", "ddl.property", "there is no property KAFKA_TOPC"),
        ("CREATE STREAM s (a INT) WITH (KAFKA_TOPIC=3);", "ddl.property", "it must be a text in single quotes"),
        (f"CREATE STREAM s (a INT) WITH ({TOPIC}, {TOPIC});", "ddl.property", "it is given twice"),
        (f"CREATE STREAM `a b` (a INT) WITH ({TOPIC}, FORMAT='JSON');", "ddl.name", "cannot name a stream"),
        (f"CREATE STREAM s (a INT) WITH ({TOPIC});", "format.missing", "the VALUE_FORMAT is missing"),
        (f"CREATE STREAM s (a INT) WITH ({TOPIC}, FORMAT='XML');", "format.unknown", "there is no format XML"),
        (f"CREATE STREAM s (a INT) WITH ({TOPIC}, FORMAT='JSON', KEY_FORMAT='JSON');", "format.both", "FORMAT and KEY"),
        (f"CREATE STREAM s (a INT, a INT) WITH ({TOPIC}, FORMAT='JSON');", "name.duplicate", "two columns `A`"),
        (f"CREATE STREAM s (rowtime INT) WITH ({TOPIC}, FORMAT='JSON');", "ddl.reserved-name", "`ROWTIME`"),
        (f"CREATE STREAM s (a nope) WITH ({TOPIC}, FORMAT='JSON');", "name.type", "there is no type NOPE"),
        (f"CREATE TABLE s (a INT KEY) WITH ({TOPIC}, FORMAT='JSON');", "ddl.key-word", "write PRIMARY KEY"),
        (f"CREATE STREAM s (a INT HEADERS) WITH ({TOPIC}, FORMAT='JSON');", "ddl.header-type", "is of type INTEGER"),
        (f"CREATE TABLE s (a INT) WITH ({TOPIC}, FORMAT='JSON');", "ddl.table-needs-key", "needs a PRIMARY KEY"),
        (f"CREATE STREAM s WITH ({TOPIC}, FORMAT='JSON');", "ddl.no-columns", "no columns are given"),
        (f"CREATE STREAM s (a MAP<STRING, INT> KEY) WITH ({TOPIC}, FORMAT='JSON');", "format.type", "contains a MAP"),
        (f"CREATE STREAM s (a MAP<INT, INT>) WITH ({TOPIC}, FORMAT='JSON');", "format.type", "keys of type INTEGER"),
        (f"CREATE STREAM s (a ARRAY<INT>) WITH ({TOPIC}, FORMAT='DELIMITED');", "format.type", "`A`: ARRAY"),
        (f"CREATE STREAM s (a BOOLEAN) WITH ({TOPIC}, FORMAT='KAFKA');", "format.type", "`A`: BOOLEAN"),
        (f"CREATE STREAM s (a INT, b INT) WITH ({TOPIC}, FORMAT='KAFKA');", "format.single-column", "`A`, `B`"),
        (f"CREATE STREAM s (a INT) WITH ({TOPIC}, FORMAT='NONE');", "format.none", "carries no columns"),
        (f"CREATE STREAM s (`1` INT) WITH ({TOPIC}, FORMAT='AVRO');", "format.name", "no names such as `1`"),
        (
            f"CREATE STREAM s (a INT) WITH ({TOPIC}, VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='::');",
            "format.delimiter",
            "'::' is not one character",
        ),
        (
            f"CREATE STREAM s (a INT) WITH ({TOPIC}, FORMAT='JSON', VALUE_SCHEMA_ID=1);",
            "format.property",
            "no schemas in a registry",
        ),
        (
            f"CREATE STREAM s (a INT, b INT) WITH ({TOPIC}, FORMAT='JSON', WRAP_SINGLE_VALUE=true);",
            "format.wrapping",
            "is for one value column",
        ),
        (
            f"CREATE STREAM s (k INT KEY, a INT) WITH ({TOPIC}, FORMAT='JSON', WINDOW_TYPE='TUMBLING');",
            "ddl.window-size",
            "the WINDOW_SIZE is missing",
        ),
        (
            f"CREATE STREAM s (a INT) WITH ({TOPIC}, FORMAT='JSON', TIMESTAMP='a');",
            "type.timestamp-column",
            "is of type INTEGER",
        ),
    ],
)
def test_what_cannot_be_a_source_is_refused_with_a_code(text: str, code: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        declared(text)
    assert caught.value.code == code
    assert message in caught.value.message


def test_the_error_of_a_column_shows_where_it_is() -> None:
    with pytest.raises(SqlError) as caught:
        declared(f"CREATE STREAM s (\n  a INT,\n  b nope) WITH ({TOPIC}, FORMAT='JSON');")
    assert str(caught.value.place) == "3:5"
    assert "  b nope" in str(caught.value)


def test_a_source_is_not_replaced_by_chance() -> None:
    first = declared(f"CREATE SOURCE STREAM s (a INT) WITH ({TOPIC}, FORMAT='JSON');")
    catalog = Catalog().with_source(first)
    for text, code in (("CREATE", "ddl.exists"), ("CREATE OR REPLACE", "ddl.source-is-read-only")):
        with pytest.raises(SqlError) as caught:
            declared(f"{text} STREAM s (a INT) WITH ({TOPIC}, FORMAT='JSON');", catalog)
        assert caught.value.code == code


def test_an_unknown_source_names_the_nearest_one() -> None:
    catalog = Catalog().with_source(declared(f"CREATE STREAM orders (a INT) WITH ({TOPIC}, FORMAT='JSON');"))
    with pytest.raises(SqlError, match="Did you mean ORDERS"):
        catalog.source("ORDRES")
