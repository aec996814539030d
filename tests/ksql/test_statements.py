"""Every statement of the cases is read, or refused where ksqlDB refuses it; declared sources are ksqlDB's."""

from __future__ import annotations

import re
from typing import Any

import pytest

from headrace.sql import SqlError, parse
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.creating import declared_source
from headrace.sql.catalog.sources import Source
from headrace.sql.formats.format_info import ColumnsFormat
from headrace.sql.text.format import shown
from headrace.sql.tree.statements import CreateSource
from tests.ksql.cases import FOLDER, MISSING, Case, cases, recorded_plans

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=MISSING)
_PLACE = re.compile(r"line (\d+:\d+)")


def all_cases() -> list[Case]:
    return [*cases(FOLDER / "qtt"), *cases(FOLDER / "rqtt")]


def parsing_error(text: str) -> SqlError | None:
    try:
        parse(text)
    except SqlError as error:
        return error
    return None


def test_each_statement_is_read_or_refused_at_the_place_that_ksqldb_names() -> None:
    refused = 0
    wrong: list[tuple[object, ...]] = []
    for case in all_cases():
        errors = [error for error in map(parsing_error, case.statements) if error]
        refused += len(errors)
        expected = case.expected_error or {}
        place = _PLACE.search(expected.get("message") or "")
        if errors and not case.expected_error:
            wrong.append((case.id, errors))
        if place:
            # A query over REST is a request of its own.
            error = parsing_error(case.statements[-1] if case.id.startswith("rqtt") else case.text)
            wrong += [] if error and str(error.place) == place[1] else [(case.id, place[1], error)]
    assert not wrong
    assert refused == 21


def test_the_canonical_text_of_each_statement_reads_back_as_the_same_tree() -> None:
    for statement in (statement for case in all_cases() for statement in case.statements):
        if parsing_error(statement) is None:
            for parsed in parse(statement):
                (again,) = parse(shown(parsed.statement) + ";")
                assert again.statement == parsed.statement, statement


def test_sources_with_declared_columns_are_as_ksqldb_recorded_them() -> None:
    plans = recorded_plans(FOLDER / "plans")
    compared, different = 0, []
    for case in cases(FOLDER / "qtt"):
        if case.id not in plans:
            continue
        recorded = [each["ddlCommand"] for each in plans[case.id]["statements"]]
        for found, expected in zip(_declared(case), recorded, strict=False):
            if found is not None and found.name == expected["sourceName"] and not _is_inferred(found, expected):
                compared += 1
                different += [] if _facts(found) == _recorded_facts(expected) else [(case.id, found.name)]
    assert not different
    assert compared == 1289


def _declared(case: Case) -> list[Source | None]:
    """The source that each statement declares; None for other statements, and where a registry has the columns."""
    catalog = Catalog()
    found: list[Source | None] = []
    for parsed in parse(case.text):
        source = None
        if isinstance(parsed.statement, CreateSource):
            try:
                source = declared_source(parsed.statement, catalog, case.properties)
            except SqlError as error:
                assert error.code in {"ddl.no-columns", "ddl.table-needs-key"}, (case.id, error)
            else:
                catalog = catalog.with_source(source)
        found.append(source)
    return found


def _is_inferred(found: Source, expected: dict[str, Any]) -> bool:
    """Whether ksqlDB took columns from a registry that the statement does not declare."""
    (parsed,) = parse(f"CREATE STREAM S ({expected['schema']});")
    assert isinstance(parsed.statement, CreateSource)
    return len(found.schema.columns) < len(parsed.statement.columns)


def _facts(source: Source) -> dict[str, Any]:
    windows = source.windows
    return {
        "schema": str(source.schema),
        "topic": source.topic,
        "key": _format(source.key_format),
        "value": _format(source.value_format),
        "timestamp": source.timestamp and (source.timestamp.name, source.timestamp.pattern),
        "windows": windows and (windows.kind.value, windows.size_ms and windows.size_ms / 1000),
        "read only": source.is_read_only,
    }


def _format(given: ColumnsFormat) -> tuple[Any, ...]:
    return given.format.name, dict(given.properties), sorted(feature.value for feature in given.features)


def _recorded_facts(command: dict[str, Any]) -> dict[str, Any]:
    formats, column, windows = command["formats"], command.get("timestampColumn"), command.get("windowInfo")
    return {
        "schema": command["schema"],
        "topic": command["topicName"],
        "key": _recorded_format(formats, "key"),
        "value": _recorded_format(formats, "value"),
        "timestamp": column and (column["column"], column.get("format")),
        "windows": windows and (windows["type"], windows.get("size")),
        "read only": command.get("isSource", False),
    }


def _recorded_format(formats: dict[str, Any], side: str) -> tuple[Any, ...]:
    given = formats[f"{side}Format"]
    return given["format"], given.get("properties", {}), sorted(formats.get(f"{side}Features", []))
