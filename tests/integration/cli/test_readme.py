"""Every command of the README runs as it is printed there, and prints what it says."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import metadata
from pathlib import Path

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()
SECONDS = 300
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def commands() -> list[tuple[str, str]]:
    """Each command of the README, and what it prints there."""
    parts = (part for kind, text in BLOCK.findall(README) if kind == "console" for part in text.split("$ ")[1:])
    return [(line, printed) for line, _, printed in (part.partition("\n") for part in parts)]


def save_program(directory: Path) -> None:
    (program,) = (text for kind, text in BLOCK.findall(README) if kind == "python" and text.startswith("# app.py\n"))
    (directory / "app.py").write_text(program)


def shell(line: str, directory: Path) -> str:
    """What a terminal would show of the command."""
    ran = subprocess.run(
        ["bash", "-c", line],
        cwd=directory,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


@contextmanager
def running(line: str, directory: Path) -> Iterator[Path]:
    """The command in another terminal; what it prints goes to a file. In the end it gets a Ctrl-C."""
    said = directory / "said.txt"
    with said.open("w") as out:
        process = subprocess.Popen(
            line.split(), cwd=directory, env=ENVIRONMENT, stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield said
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0, said.read_text()
    finally:
        process.kill()


def wait_for(text: str, said: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while text not in said.read_text():
        assert time.monotonic() < deadline, said.read_text()
        time.sleep(0.2)


def test_the_five_commands_lead_to_a_count_that_answers(tmp_path: Path) -> None:
    save_program(tmp_path)
    (install, _), *before, (run, _), (ask, answer) = commands()
    (look,) = re.findall(r"^`(headrace consume .*?)`", README, re.MULTILINE)

    for line, printed in before:
        assert shell(line, tmp_path) == printed, line
    with running(run, tmp_path) as said:
        wait_for("batch 0: 2 records read", said)
        assert shell(ask, tmp_path) == answer
    assert "kafka\t2" in shell(look, tmp_path).splitlines()

    assert install.startswith("pip install ")


def test_what_is_to_be_installed_is_there() -> None:
    line = commands()[0][0].replace("pip install", f"{sys.executable} -m pip install --dry-run --no-deps", 1)
    said = shell(line, ROOT)

    # An extra that does not exist is a warning of pip, not an error.
    assert "WARNING: headrace" not in said
    assert "Would install headrace" in said
    named = {extra for extras in re.findall(r"pip install '\.\[(.*?)\]'", README) for extra in extras.split(",")}
    assert named <= set(metadata("headrace").get_all("Provides-Extra") or ())


def test_the_statements_of_the_shell_are_answered_as_printed(tmp_path: Path) -> None:
    (shown,) = (text for kind, text in BLOCK.findall(README) if kind == "text")
    command, *lines = shown.splitlines()
    typed = [line.removeprefix("sql> ") for line in lines if line.startswith("sql> ")]
    said = shell("\n".join([f"{command.removeprefix('$ ')} <<END", *typed, "END"]), tmp_path)
    assert said.splitlines() == [line for line in lines if not line.startswith("sql> ")]


def test_every_make_is_a_target() -> None:
    targets = re.findall(r"(?:^ {4}|`)make ([\w-]+)", README, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert targets[:2] == ["demo", "test"]
    assert [target for target in targets if f"\n{target}: " not in makefile] == []
