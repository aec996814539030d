"""What callers give a database by mistake."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import Database
from headrace.errors import ArgumentError, ConfigError, OperatorTypeError


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(f"embedded:{tmp_path}", engine="local", runs_queries=False) as database:
        yield database


@pytest.mark.parametrize("given", [5, None, b"SHOW STREAMS;", Path("a.sql"), ["SHOW STREAMS;"]])
def test_statements_are_text(database: Database, given: Any) -> None:
    for call in (database.execute, database.execute_all, lambda text: list(database.run_script(text, "a.sql"))):
        with pytest.raises(OperatorTypeError, match="statements are text, found") as caught:
            call(given)
        assert 'execute("SHOW STREAMS;")' in str(caught.value.hint)
        assert __file__ in str(caught.value.at)


def test_values_do_not_stand_beside_the_statement(database: Database) -> None:
    with pytest.raises(OperatorTypeError, match=r"a Session is needed beside the statements, found \('a',\)") as caught:
        database.execute("SELECT * FROM clicks WHERE id = ?;", ("a",))  # type: ignore[arg-type]
    assert "into the statement itself" in str(caught.value.hint)


def test_a_query_that_is_not_there(database: Database) -> None:
    for ask in (database.state_of, database.failure_of):
        with pytest.raises(ArgumentError, match="there is no query 'CTAS_X_1'") as caught:
            ask("CTAS_X_1")
        assert caught.value.detail == "The queries are: none."


@pytest.mark.parametrize("settings", [[1], "earliest"])
def test_settings_are_a_dict(tmp_path: Path, settings: Any) -> None:
    with pytest.raises(ConfigError, match="the settings are a dict") as caught:
        Database(f"embedded:{tmp_path}", engine="local", settings=settings)
    assert "ksql.streams.auto.offset.reset" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("auto.ofset.reset", "auto.offset.reset"),
        ("auto_offset_reset", "auto.offset.reset"),
        ("ksql.stream.auto.offset.reset", "ksql.streams.auto.offset.reset"),
        ("ksql.persistence.default.format.values", "ksql.persistence.default.format.value"),
    ],
)
def test_a_misspelt_setting(tmp_path: Path, name: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown setting '{name}'") as caught:
        Database(f"embedded:{tmp_path}", engine="local", settings={name: "earliest"})
    assert caught.value.hint == f"Did you mean {meant}?"


def test_a_place_to_start_from_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"auto\.offset\.reset is 'earlyest', which is no offset reset") as caught:
        Database(f"embedded:{tmp_path}", engine="local", settings={"auto.offset.reset": "earlyest"})
    assert caught.value.at is None


def test_functions_are_a_registry(tmp_path: Path) -> None:
    for given in ([len], len, pytest):
        with pytest.raises(OperatorTypeError, match="functions= takes a registry, found") as caught:
            Database(f"embedded:{tmp_path}", engine="local", functions=given)  # type: ignore[arg-type]
        assert "builtin().extended(f" in str(caught.value.hint)
        assert __file__ in str(caught.value.at)
