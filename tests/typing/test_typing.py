"""mypy knows keys and values through the operators, and refuses functions that do not fit them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

import headrace

PROGRAMS = [Path(__file__).with_name(name) for name in ("keys_and_values.py", "mistakes.py")]
_SAID = re.compile(r"^(?P<at>.+:\d+): (?:note: Revealed type is \"(?P<type>.*)\"|error: .*\[(?P<code>[\w-]+)\])$")
_MODULE = re.compile(r"\b(?:\w+\.)+(?=\w)")


@pytest.fixture(scope="module")
def said_by_mypy(request: pytest.FixtureRequest) -> dict[str, set[str]]:
    assert request.config.cache is not None
    cache = request.config.cache.mkdir("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={cache}", "--no-pretty", *map(str, PROGRAMS)]
    root = request.config.rootpath
    output = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600, check=False)
    assert not output.stderr
    said: dict[str, set[str]] = defaultdict(set)
    for match in filter(None, map(_SAID.match, output.stdout.splitlines())):
        said[Path(match["at"]).name].add(match["code"] or _MODULE.sub("", match["type"]))
    return said


def expected_of(program: Path) -> dict[str, set[str]]:
    expected = {}
    for number, line in enumerate(program.read_text().splitlines(), start=1):
        code, _, comment = line.partition("  # ")
        if comment.startswith("error: "):
            expected[f"{program.name}:{number}"] = set(comment.removeprefix("error: ").split(", "))
        elif "reveal_type(" in code:
            expected[f"{program.name}:{number}"] = {comment}
    return expected


def test_every_line_has_the_type_or_the_error_that_its_comment_says(said_by_mypy: dict[str, set[str]]) -> None:
    types, mistakes = (expected_of(program) for program in PROGRAMS)

    assert said_by_mypy == types | mistakes
    assert len(types) > 60
    assert len(mistakes) > 10


def test_type_checkers_are_told_that_the_package_has_types() -> None:
    assert (Path(headrace.__file__).parent / "py.typed").exists()
