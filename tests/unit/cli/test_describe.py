from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headrace import StreamsBuilder
from headrace.commands import PROGRAM_MODULE
from tests.unit.cli.conftest import Headrace

PROGRAM = """
from headrace import StreamsBuilder
builder = StreamsBuilder()
builder.stream("in").to("out")
"""
OTHERS = [
    PROGRAM,
    PROGRAM + "topology = builder.build(); del builder",
    "def build():\n" + "".join(f"    {line}\n" for line in PROGRAM.splitlines()) + "    return builder.build()",
    PROGRAM + "def build(): return other\nother = builder; del builder",
    PROGRAM + "if __name__ == '__main__': raise SystemExit('not run')",
    PROGRAM + "print('hello')",
]


@pytest.fixture(autouse=True)
def fresh_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.delitem(sys.modules, PROGRAM_MODULE, raising=False)


def described() -> str:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    return str(builder.build().describe()).rstrip("\n") + "\n"


@pytest.mark.parametrize("program", OTHERS)
def test_finds_the_topology(headrace: Headrace, program: str) -> None:
    Path("app.py").write_text(program)

    assert headrace("describe", "app.py").out == described()


@pytest.mark.parametrize(
    ("format", "start"), [("text", "Topologies:"), ("mermaid", "flowchart TD"), ("dot", "digraph topology {")]
)
def test_shows_it_in_several_ways(headrace: Headrace, format: str, start: str) -> None:
    Path("app.py").write_text(PROGRAM)

    assert headrace("describe", "app.py", "--format", format).out.startswith(start)


def test_json_can_be_said_in_two_ways(headrace: Headrace) -> None:
    Path("app.py").write_text(PROGRAM)

    one, other = headrace("describe", "app.py", "--json"), headrace("describe", "app.py", "--format", "json")
    assert one.data == other.data
    assert [node["kind"] for node in one.data["subtopologies"][0]["nodes"]] == ["source", "sink"]


def test_a_program_may_have_several(headrace: Headrace) -> None:
    Path("app.py").write_text(PROGRAM + "first = builder\nbuilder = StreamsBuilder()\nbuilder.stream('x').to('y')")

    assert headrace("describe", "app.py:first").out == described()


def test_a_program_may_import_its_neighbours(headrace: Headrace) -> None:
    Path("headrace_test_neighbour.py").write_text(PROGRAM)
    Path("app.py").write_text("from headrace_test_neighbour import builder")

    assert headrace("describe", "app.py").out == described()


@pytest.mark.parametrize(
    ("program", "code", "told"),
    [
        ("", 3, "there is no topology in app.py\n  detail: None of topology, builder, build is there."),
        (PROGRAM.replace("builder", "b"), 3, "hint: Say which one it is: app.py:b."),
        (
            "if __name__ == '__main__':\n    builder = 1",
            3,
            'What is below if __name__ == "__main__" does not run here: build the topology above it.',
        ),
        ("topology = 3", 2, "topology in app.py is no topology\n  detail: It is of the type int."),
        ("def build(x): ...", 2, "build in app.py cannot be called without arguments\n  detail: missing"),
        ("def build(): ...", 2, "It is of the type NoneType."),
        ("x = 1 +", 1, "app.py is no valid Python: invalid syntax\n  at: "),
        ("1 / 0", 1, "app.py raised ZeroDivisionError: division by zero"),
        ("def build():\n    1 / 0", 1, "app.py:2"),
        ("import sys\nsys.exit(3)", 1, "app.py ended before its topology was built\n  detail: It called exit(3)."),
        (PROGRAM + "builder.stream('')", 1, "error: "),
    ],
)
def test_what_is_wrong_with_a_program_is_said(headrace: Headrace, program: str, code: int, told: str) -> None:
    Path("app.py").write_text(program)

    ran = headrace.runs("describe", "app.py")
    assert told in ran.err
    assert "Traceback" not in ran.err
    assert ran.code == code or program.endswith("stream('')")


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("nope.py", 3, "there is no file nope.py"),
        ("app", 3, "there is no file app\n  hint: Did you mean app.py?"),
        ("ap.py", 3, "there is no file ap.py\n  hint: Did you mean app.py?"),
        ("app.py:nope", 3, "there is no 'nope' in app.py"),
        (".", 2, ". is a directory"),
        ("app.txt", 2, "app.txt is no Python file"),
    ],
)
def test_a_program_that_is_not_there_is_an_error(headrace: Headrace, name: str, code: int, told: str) -> None:
    Path("app.py").write_text(PROGRAM)
    Path("app.txt").write_text(PROGRAM)

    assert told in headrace.fails("describe", name, code=code)


def test_an_unknown_format_is_an_error(headrace: Headrace) -> None:
    Path("app.py").write_text(PROGRAM)

    assert "Choose one of text, mermaid, dot, json." in headrace.fails("describe", "app.py", "--format", "x", code=2)
