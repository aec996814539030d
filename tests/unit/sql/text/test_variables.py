"""Variables in statements, and statements one by one."""

from __future__ import annotations

import pytest

from headrace.sql.errors import SqlError
from headrace.sql.text.splitting import statements_of
from headrace.sql.text.variables import substituted


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("SELECT ${c}", "SELECT id"),
        ("SELECT ${C} FROM t", "SELECT id FROM t"),
        ("WHERE a = '${c} and ${quote}'", "WHERE a = 'id and it''s'"),
        ('SELECT `${c}`, "x ${c}"', 'SELECT `id`, "x id"'),
        ("LIMIT ${n}", "LIMIT -1.5e3"),
        ("WHERE a = ${text}", "WHERE a = 'it''s; DROP'"),
        ("SELECT ${nothing}", "SELECT ${nothing}"),
        ("SELECT '${nothing}' -- ${c}", "SELECT '${nothing}' -- ${c}"),
    ],
)
def test_a_variable_is_replaced_in_names_literals_and_texts(text: str, new: str) -> None:
    variables = {"C": "id", "N": "-1.5e3", "QUOTE": "it's", "TEXT": "'it''s; DROP'"}
    assert substituted(text, variables) == new


@pytest.mark.parametrize("value", ["a; DROP STREAM s", "1 OR 1 = 1", "a.b", "'a' 'b'", "", "`a` b"])
def test_a_value_is_never_more_than_one_literal_or_name(value: str) -> None:
    with pytest.raises(SqlError) as raised:
        substituted("SELECT ${v} FROM s;", {"V": value})
    assert (raised.value.code, str(raised.value.place)) == ("variable.value", "1:8")


def test_a_name_that_is_nearly_right_is_told() -> None:
    with pytest.raises(SqlError, match="no variable CITI") as raised:
        substituted("SELECT ${citi} FROM s;", {"CITY": "Zug"})
    assert "CITY" in str(raised.value.hint)


def test_a_text_is_cut_at_semicolons_that_are_no_part_of_texts_names_or_comments() -> None:
    text = "A ';' ; /* ; */ B `;`;\n\nC"
    assert statements_of(text) == [(0, "A ';' ;"), (16, "B `;`;"), (24, "C")]
    assert statements_of(" -- nothing; at all\n") == []
