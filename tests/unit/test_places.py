"""Which line and which file of the user's an error names."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest

from headrace import commands
from headrace.errors import user_line
from headrace.libraries import LIBRARIES, PACKAGE


def called_from(*files: str) -> Any:
    """What ``user_line`` says where the code of the first of ``files`` calls it, which the second calls, and so on."""
    call: Any = user_line
    for file in files:
        found = {"inner": call}
        exec(compile("def call(): return inner()", file, "exec"), found)
        call = found["call"]
    return call()


COMMAND = str(Path(commands.__file__).parent / "cli" / "app.py")
LIBRARY = f"{LIBRARIES[0]}contextlib.py"


@pytest.mark.parametrize("files", [("shop.py",), (LIBRARY, "shop.py"), (LIBRARY, "<frozen runpy>", "shop.py")])
def test_the_line_is_the_users_though_a_library_is_between(files: tuple[str, ...]) -> None:
    assert called_from(*files) == "shop.py:1"


@pytest.mark.parametrize("place", [PACKAGE, LIBRARIES[0]])
def test_a_directory_whose_name_begins_like_that_of_a_library_is_the_users(place: str) -> None:
    program = f"{place.removesuffix('/')}2/shop.py"
    assert called_from(program, LIBRARY, "start.py") == f"{program}:1"


def test_a_program_that_is_installed_has_lines_too() -> None:
    assert called_from(f"{LIBRARIES[0]}shop.py", COMMAND) == f"{LIBRARIES[0]}shop.py:1"


def test_what_a_command_does_by_itself_is_no_line_of_the_user() -> None:
    assert called_from(COMMAND) is None


def test_a_reset_that_is_recommended_names_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delitem(sys.modules, commands.PROGRAM_MODULE, raising=False)
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert commands.reset("h:1") == "headrace reset app.py --broker h:1"

    main.__file__ = f"{LIBRARIES[0]}pytest/__main__.py"
    assert commands.reset("h:1") == "headrace reset app.py --broker h:1"

    main.__file__ = "/srv/shop.py"
    assert commands.reset("h:1") == "headrace reset /srv/shop.py --broker h:1"

    program = types.ModuleType(commands.PROGRAM_MODULE)
    program.__file__ = str(tmp_path / "my orders.py")
    monkeypatch.setitem(sys.modules, commands.PROGRAM_MODULE, program)
    monkeypatch.chdir(tmp_path)
    assert commands.reset("h:1") == "headrace reset 'my orders.py' --broker h:1"
