"""The shell's parts: when a statement is whole, what is completed, how answers fit the screen, what is remembered."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from headrace.cli.output import Output
from headrace.cli.sql_shell import MORE, PROMPT, Shell, Terminal, completions, is_whole
from headrace.cli.sql_show import AnswerScreen, live_widths, mistake_data, row_texts
from headrace.database import Answer, Database
from headrace.database.answers import Row
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.errors import SqlError
from headrace.sql.functions import builtin
from headrace.sql.schema import Column
from headrace.sql.tree import types as t


class Typed:
    """Lines of a user, and what the shell asked for and remembers."""

    def __init__(self, *lines: str | type[BaseException]) -> None:
        self._lines = list(lines)
        self.prompts: list[str] = []
        self.remembered: list[str] = []

    def read(self, prompt: str) -> str:
        self.prompts.append(prompt)
        line = self._lines.pop(0) if self._lines else EOFError
        if not isinstance(line, str):
            raise line
        return line

    def remember(self, statement: str) -> None:
        self.remembered.append(statement)


@pytest.fixture
def database(tmp_path: Path) -> Any:
    with Database(f"embedded:{tmp_path / 'data'}", engine="local", runs_queries=False) as found:
        yield found


def play(database: Database, *lines: str | type[BaseException]) -> Typed:
    typed = Typed(*lines)
    Shell(database, AnswerScreen(Output()), typed, "hello").run()
    return typed


def test_a_statement_goes_over_several_lines(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    typed = play(database, "CREATE TYPE money", "  AS DECIMAL(10, 2);", "SHOW TYPES;")
    assert typed.prompts == [PROMPT, MORE, PROMPT, PROMPT]
    assert typed.remembered[0] == "CREATE TYPE money\n  AS DECIMAL(10, 2);"
    assert "MONEY" in capsys.readouterr().out


def test_ctrl_c_forgets_what_was_typed(database: Database) -> None:
    typed = play(database, "CREATE TYPE", KeyboardInterrupt, "SHOW TYPES;")
    assert typed.prompts == [PROMPT, MORE, PROMPT, PROMPT]
    assert typed.remembered == ["SHOW TYPES;"]


@pytest.mark.parametrize("line", ["\\q", "exit", "QUIT;"])
def test_a_word_ends_the_shell(database: Database, line: str) -> None:
    assert play(database, line, "SHOW TYPES;").prompts == [PROMPT]


def test_a_mistake_gives_the_prompt_back(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    typed = play(database, "SELECT * FROM nothing;", "\\run none.sql", "\\nothing", "\\help")
    shown = capsys.readouterr()
    assert len(typed.prompts) == 5
    assert "no stream or table NOTHING" in shown.err
    assert "the file none.sql cannot be read: No such file" in shown.err
    assert "Ctrl-D" in shown.out


@pytest.mark.parametrize("line", ["\\run {}", "run script '{}';"])
def test_a_file_is_executed(database: Database, tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "types.sql").write_text("CREATE TYPE money AS INT; SHOW TYPES;")
    play(database, line.format(tmp_path / "types.sql"))
    assert "MONEY" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1;", True),
        ("SELECT 1", False),
        ("SELECT ';", False),
        ("SELECT ';';", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1 -- not yet;", False),
        ("/* ;", False),
        ("SELECT # FROM t;", True),
        ("SELECT # FROM t", False),
        ("\\help", True),
        ("", False),
    ],
)
def test_a_text_is_whole_when_its_last_statement_is(text: str, expected: bool) -> None:
    assert is_whole(text) is expected


def test_words_are_completed_in_the_case_in_which_they_were_begun() -> None:
    assert completions("SEL", Catalog(), builtin()) == ["SELECT "]
    assert completions("collect_l", Catalog(), builtin()) == ["collect_list("]
    assert completions("\\h", Catalog(), builtin()) == ["\\help"]


def test_names_of_sources_types_and_columns_are_completed(database: Database) -> None:
    database.execute(
        "CREATE STREAM orders (order_id INT KEY) WITH (kafka_topic='o', value_format='JSON', partitions=1);"
    )
    assert completions("ORDER", database.engine.catalog, builtin()) == ["ORDERS", "ORDER_ID"]


def test_the_history_is_its_owners(database: Database, tmp_path: Path) -> None:
    history = tmp_path / "xdg" / "headrace" / "sql-history"
    Terminal(database, history).remember("SELECT *\n  FROM t;")
    assert history.read_text() == "SELECT * FROM t;\n"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert stat.S_IMODE(history.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_rows_that_come_fit_the_terminal(width: int) -> None:
    columns = [Column("ID", t.BIGINT), Column("NAME", t.STRING), Column("AT", t.TIMESTAMP), Column("OK", t.BOOLEAN)]
    widths = live_widths(columns, width)
    assert sum(widths) + 2 * (len(columns) - 1) <= width
    assert min(widths) > 0


def test_values_are_shown_as_people_read_them() -> None:
    columns = [Column("A", t.BOOLEAN), Column("B", t.Array(t.INTEGER)), Column("C", t.STRING), Column("D", t.DATE)]
    assert row_texts(Row([True, [1, None], None, 0]), columns) == ["true", "[1, null]", "null", "1970-01-01"]


def test_json_says_which_rows_are_gone(capsys: pytest.CaptureFixture[str]) -> None:
    screen = AnswerScreen(Output(json=True))
    screen.show(
        Answer([Column("K", t.STRING), Column("N", t.INTEGER)], [Row(["a", 1]), Row(["a", None], is_gone=True)])
    )
    assert capsys.readouterr().out == '{"K": "a", "N": 1}\n{"K": "a", "N": null, "@gone": true}\n'


def test_a_mistake_is_data_for_programs() -> None:
    error = SqlError("name.source", "there is no stream S", offset=15, hint="Did you mean T?")
    error.locate("SELECT *\n FROM s;")
    assert mistake_data(error) == {
        "error": "there is no stream S",
        "code": "name.source",
        "line": 2,
        "column": 7,
        "hint": "Did you mean T?",
        "exit_code": 1,
    }


def test_lines_of_a_mistake_are_lines_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    error = SqlError("call.no-overload", "wrong\x07", detail="LEN can be called as\n  LEN(STRING)", hint="one\ntwo")
    AnswerScreen(Output()).mistake(error)
    shown = capsys.readouterr().err
    assert "error: wrong\\x07\n" in shown
    assert "  detail: LEN can be called as\n  LEN(STRING)\n" in shown
    assert "  hint: one\ntwo\n" in shown


def test_what_is_shown_is_kept_in_a_file(
    database: Database, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "kept.txt"
    play(
        database,
        f"SPOOL '{file}';",
        "CREATE TYPE money AS INT;",
        "SHOW NOTHING;",
        "SHOW TYPES;",
        "SPOOL OFF;",
        "\\help",
    )
    kept = file.read_text()
    for shown in (
        "sql> CREATE TYPE money AS INT;",
        "Type MONEY registered",
        "parse.syntax",
        "INTEGER",
        "sql> SPOOL OFF;",
    ):
        assert shown in kept
    assert "Ctrl-D" not in kept
    assert "Ctrl-D" in capsys.readouterr().out


def test_spool_is_refused_where_it_makes_no_sense(
    database: Database, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    play(database, "SPOOL OFF;", f"SPOOL '{tmp_path}';")
    shown = capsys.readouterr().err
    assert "spool.off" in shown
    assert "cannot be written: Is a directory" in shown


def test_failures_are_told_before_the_prompt(database: Database, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[int] = []
    Shell(database, AnswerScreen(Output()), Typed("SHOW TYPES;"), "hello", lambda: told.append(1)).run()
    assert len(told) == 2
