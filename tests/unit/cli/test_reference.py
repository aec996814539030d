"""``docs/reference/cli.md`` does what it says, and says all there is."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from headrace.cli import exits
from headrace.cli.app import app
from headrace.cli.session import EXAMPLES
from tests.unit.cli.conftest import Headrace

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "cli.md"
BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMON = {"broker", "as_json", "quiet", "debug"}
PROGRAM = """from headrace import StreamsBuilder

builder = StreamsBuilder()
builder.stream("lines", name="read").map_values(str.upper, name="shout").to("loud", name="write")
"""


def examples() -> Iterator[tuple[str, str]]:
    """Each command of the page, and what it prints there."""
    for block in BLOCK.findall(PAGE.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, printed = part.partition("\n")
            yield line, printed


def shell(headrace: Headrace, line: str) -> tuple[int, str]:
    """A pipe of commands; those of Headrace run in this process."""
    code, printed, told = 0, "", ""
    for part in line.split(" | "):
        name, *arguments = shlex.split(part)
        if name == "headrace":
            ran = headrace.runs(*arguments, input=printed)
            code, printed, told = ran.code, ran.out, told + ran.err
        else:
            printed = subprocess.run(["bash", "-c", part], check=True, capture_output=True, text=True).stdout
    return code, printed + told


def commands(command: Any = None, name: str = "headrace") -> Iterator[tuple[str, Any]]:
    """Every command by its full name."""
    command = command or typer.main.get_command(app)
    if not hasattr(command, "commands"):
        yield name, command
    for below, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {below}")


def test_the_examples_print_what_the_page_says(headrace: Headrace) -> None:
    Path("app.py").write_text(PROGRAM)
    for line, expected in examples():
        said, _, remark = line.partition("  # exits with ")
        code, printed = shell(headrace, said)

        assert [text.rstrip() for text in printed.splitlines()] == expected.splitlines(), line
        assert code == int(remark or 0), line


@pytest.mark.parametrize(
    ("name", "command"), list(commands()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_option_is_on_the_page(name: str, command: Any) -> None:
    page = PAGE.read_text()
    section = re.search(rf"^##+ {name}\b.*?(?=^##)", page, re.DOTALL | re.MULTILINE)
    assert section is not None
    options = [
        option for one in command.params if one.name not in COMMON for option in (*one.opts, *one.secondary_opts)
    ]

    missing = [option for option in options if option.startswith("-") and f"`{option}" not in section[0]]
    assert not missing


def test_the_exit_codes_are_on_the_page() -> None:
    page = PAGE.read_text()
    assert all(f"\n| {code} | {meaning.split(':')[0]}" in page for code, meaning in exits.MEANINGS.items())


def test_the_examples_in_the_help_can_be_parsed() -> None:
    known = dict(commands())
    lines = [part.strip() for group in EXAMPLES.values() for line in group for part in re.split(r" [|<>] ", line)]
    for line in lines:
        words = shlex.split(line)
        if words[0] != "headrace":
            continue
        name = " ".join(words[:3]) if " ".join(words[:3]) in known else " ".join(words[:2])
        known[name].make_context(name, words[len(name.split()) :]).close()


def test_every_command_has_examples() -> None:
    assert len(EXAMPLES) == len(dict(commands()))
    assert all(EXAMPLES.values())
