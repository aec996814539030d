"""Files with statements: how they are read, and what is told of one that was edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.database.scripts import edits_told, text_of_file
from headrace.sql import parse
from headrace.sql.engine.session import Session
from headrace.sql.errors import SqlError
from tests.unit.sql.engine.test_engine import PAGES, Engine

COUNTS = "CREATE TABLE counts AS SELECT name, COUNT(*) AS n FROM pages GROUP BY name;"


def test_the_mark_of_a_file_that_is_utf_8_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "windows.sql"
    file.write_text(PAGES, encoding="utf-8-sig")
    assert text_of_file(str(file)) == PAGES


@pytest.mark.parametrize(
    ("edited", "advice"),
    [
        (COUNTS.replace("GROUP BY", "WHERE name = 'x' GROUP BY"), "write CREATE OR REPLACE TABLE COUNTS"),
        (COUNTS.replace("AS n", "AS n, MAX(id) AS latest"), "This one cannot take its place"),
    ],
)
def test_a_statement_that_was_edited_is_only_replaced_where_it_can_be(edited: str, advice: str) -> None:
    engine = Engine()
    engine.execute(PAGES + COUNTS)
    statements = parse(edited)
    with pytest.raises(SqlError) as raised, edits_told("counts.sql", statements, {"counts.sql": [PAGES, COUNTS]}):
        engine.try_all(statements, Session())
    assert raised.value.at == "counts.sql"
    assert raised.value.place is not None
    assert advice in str(raised.value.hint)
    assert "DROP TABLE COUNTS;" in str(raised.value.hint)
