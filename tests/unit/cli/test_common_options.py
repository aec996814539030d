from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from headrace import errors
from headrace.cli import exits, version
from headrace.cli.output import clean, clean_lines, redacted, warnings_as_notes
from headrace.cli.session import EXAMPLES, Session, command
from tests.unit.cli.conftest import Headrace

HELP_OF = [
    (),
    ("describe",),
    ("topics",),
    *(("topics", name) for name in ("list", "create", "describe", "alter", "delete")),
    ("produce",),
    ("consume",),
    ("groups",),
    *(("groups", name) for name in ("list", "describe", "reset", "delete")),
    ("doctor",),
    ("version",),
]


def failing(error: BaseException, *arguments: str) -> tuple[int, str]:
    """The exit code and standard error of a command that raises ``error``."""
    app = typer.Typer(pretty_exceptions_enable=False)

    @command(app, "fail")
    def fail(session: Session) -> None:
        """Fail."""
        raise error

    del EXAMPLES["fail"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    return result.exit_code, result.stderr


def test_a_command_shows_what_the_log_warns_of_once() -> None:
    app = typer.Typer(pretty_exceptions_enable=False)

    @command(app, "warn")
    def warn(session: Session) -> None:
        """Warn."""
        log = logging.getLogger("headrace.broker")
        log.warning("the broker is slow")
        with warnings_as_notes(lambda note: session.out.note(f"inside: {note}")):
            log.warning("it is gone")

    del EXAMPLES["warn"]
    shown = CliRunner().invoke(app, catch_exceptions=False).stderr
    assert shown == "warning: the broker is slow\ninside: warning: it is gone\n"


def test_options_may_stand_before_or_after_the_command(headrace: Headrace, tmp_path: Path) -> None:
    other = f"embedded:{tmp_path / 'other'}"

    headrace("--broker", other, "topics", "create", "a")
    headrace("topics", "create", "b", "--broker", other)

    assert headrace("-b", other, "--quiet", "topics", "list").out == "a\nb\n"
    assert (
        headrace("-b", other, "--json", "topics", "list").data == headrace("topics", "list", "-b", other, "--json").data
    )


@pytest.mark.parametrize("name", HELP_OF, ids=" ".join)
def test_every_command_has_help(headrace: Headrace, name: tuple[str, ...]) -> None:
    shown = headrace(*name, "--help").out

    assert "--help" in shown
    assert "\x1b" not in shown
    assert (len(name) == 1 and name[0] in {"topics", "groups"}) or "Examples:" in shown


def test_the_help_lists_the_exit_codes(headrace: Headrace) -> None:
    shown = headrace("--help").out

    assert all(f"{code:<4} {meaning}" in shown for code, meaning in exits.MEANINGS.items())


def test_without_a_command_the_help_is_shown(headrace: Headrace) -> None:
    assert "Usage" in headrace.runs().out + headrace.runs().err
    assert headrace.runs().code == 2


def test_the_version_is_that_of_the_package(headrace: Headrace) -> None:
    assert headrace("--version").out == f"headrace {version.of_headrace()}\n"
    assert headrace("version", "--quiet").out == f"{version.of_headrace()}\n"
    assert headrace("version", "--json").data["headrace"] == version.of_headrace()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.HeadraceError("x"), 1),
        (errors.BrokerError("x"), 1),
        (errors.ArgumentError("x"), 2),
        (errors.ConfigError("x"), 2),
        (errors.UnknownTopicError("x"), 3),
        (errors.OffsetOutOfRangeError("x"), 3),
        (errors.TopicExistsError("x"), 4),
        (errors.LeaseHeldError("x"), 4),
        (errors.SerializationError("x"), 5),
        (errors.CorruptLogError("x"), 5),
        (PermissionError(13, "Permission denied", "/x"), 1),
        (ZeroDivisionError("x"), 1),
        (KeyboardInterrupt(), 130),
        (typer.Exit(7), 7),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_each_error_has_its_exit_code(error: BaseException, code: int) -> None:
    assert failing(error)[0] == code


def test_an_error_shows_message_detail_hint_and_place() -> None:
    error = errors.BrokerError("it broke", detail="a\x1b[31m", hint="mend it", at="app.py:3")

    assert failing(error)[1] == ("error: it broke\n  detail: a\\x1b[31m\n  hint: mend it\n  at: app.py:3\n")
    assert json.loads(failing(error, "--json")[1]) == {
        "error": "it broke",
        "detail": "a\x1b[31m",
        "hint": "mend it",
        "at": "app.py:3",
        "exit_code": 1,
    }


def test_interrupts_say_nothing() -> None:
    assert failing(KeyboardInterrupt())[1] == ""


def test_a_bug_of_ours_says_so_without_a_traceback() -> None:
    _, told = failing(ZeroDivisionError("by zero"))

    assert told.startswith("error: ZeroDivisionError: by zero\n  hint: This is our bug")


def test_debug_lets_the_traceback_through() -> None:
    with pytest.raises(errors.BrokerError):
        failing(errors.BrokerError("it broke"), "--debug")


def test_control_characters_are_shown_not_sent() -> None:
    assert clean("a\x1b]0;x\x07\r\n\u202eb\udc80") == "a\\x1b]0;x\\x07\\r\\n\\u202eb\\udc80"
    assert clean_lines("a\n\tb\r\x9b") == "a\n\tb\\r\\x9b"


def test_passwords_in_addresses_are_not_shown() -> None:
    assert (
        redacted("at https://user:pa:ss@host/x and kafka://h:9092") == "at https://user:***@host/x and kafka://h:9092"
    )


def test_without_the_extra_the_command_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError('no typer', name='typer')")

    finished = subprocess.run(
        [sys.executable, "-m", "headrace.cli"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 1
    assert finished.stderr == (
        "error: the command line needs a package that is not installed: typer\n"
        "  hint: Install it with: pip install 'headrace[cli]'\n"
    )


@pytest.mark.parametrize("module", ["headrace.errors", "headrace.cli.app"])
def test_ctrl_c_while_commands_are_imported_ends_without_a_traceback(module: str) -> None:
    program = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from headrace.cli import main\n"
        "main()\n"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (exits.INTERRUPTED, "", "")
