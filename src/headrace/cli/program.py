"""Finding the topology in a user's program.

The file is run as Python runs a script, with its directory on the path, but under a name of its own, so that what is
below ``if __name__ == "__main__"`` does not run. What it prints meanwhile goes to the standard error.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from headrace.cli.exits import NotFoundError, UsageError
from headrace.commands import PROGRAM_MODULE
from headrace.dsl.builder import StreamsBuilder
from headrace.errors import HeadraceError
from headrace.lifecycle.preflight import loading
from headrace.near_names import did_you_mean
from headrace.topology import Topology

_NAMES = ("topology", "builder", "build")
_HINT = "Give the file a variable topology or builder (a StreamsBuilder), or a function build() that returns one."

_BELOW_MAIN = 'What is below if __name__ == "__main__" does not run here: build the topology above it.'


def load_topology(program: str) -> Topology:
    """The topology of ``FILE.py``, or of the thing called NAME in it: ``FILE.py:NAME``."""
    file, name = _split(program)
    module = _run(file)
    if name is not None and not hasattr(module, name):
        message = f"there is no {name!r} in {file}"
        raise NotFoundError(message, hint=_HINT)
    found = next((one for one in ([name] if name else _NAMES) if hasattr(module, one)), None)
    if found is None:
        message = f"there is no topology in {file}"
        hint = f"{_HINT} {_BELOW_MAIN}" if "__main__" in file.read_text(errors="replace") else _HINT
        others = [each for each, held in vars(module).items() if isinstance(held, (Topology, StreamsBuilder))]
        hint = f"Say which one it is: {' or '.join(f'{file}:{each}' for each in others)}." if others else hint
        raise NotFoundError(message, detail=f"None of {', '.join(_NAMES)} is there.", hint=hint)
    with _blaming(file):
        return _topology_of(getattr(module, found), f"{found} in {file}")


def _split(program: str) -> tuple[Path, str | None]:
    path = Path(program)
    name = None
    if not path.exists() and ":" in program:
        file, _, name = program.rpartition(":")
        path = Path(file)
    if path.is_dir():
        message = f"{path} is a directory"
        raise UsageError(message, hint="Name the Python file that holds the topology.")
    if not path.is_file():
        message = f"there is no file {path}"
        beside = [each.name for each in path.parent.glob("*.py")]
        hint = did_you_mean(f"{path.stem}.py", beside, shown=lambda near: str(path.with_name(near)))
        raise NotFoundError(message, hint=hint)
    if not os.access(path, os.R_OK):
        message = f"{path} cannot be read: you have no right to"
        raise NotFoundError(message)
    return path, name


def _topology_of(found: Any, what: str) -> Topology:
    if callable(found) and not isinstance(found, (Topology, StreamsBuilder)):
        _check_no_arguments(found, what)
        found = found()
    if isinstance(found, StreamsBuilder):
        found = found.build()
    if isinstance(found, Topology):
        return found
    message = f"{what} is no topology"
    raise UsageError(message, detail=f"It is of the type {type(found).__name__}.", hint=_HINT)


def _check_no_arguments(function: Any, what: str) -> None:
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        message = f"{what} cannot be called without arguments"
        raise UsageError(message, detail=str(error), hint=_HINT) from error


def _run(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(PROGRAM_MODULE, file)
    if spec is None or spec.loader is None:
        message = f"{file} is no Python file"
        raise UsageError(message, hint="Its name has to end with .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PROGRAM_MODULE] = module
    sys.path.insert(0, str(file.resolve().parent))
    with _blaming(file):
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _blaming(file: Path) -> Iterator[None]:
    """What the program raises, as an error that names the program's line instead of ours."""
    try:
        with contextlib.redirect_stdout(sys.stderr), loading(str(file)):
            yield
    except HeadraceError:
        raise
    except SyntaxError as error:
        message = f"{file} is no valid Python: {error.msg}"
        raise HeadraceError(message, at=f"{error.filename}:{error.lineno}") from error
    except SystemExit as error:
        message = f"{file} ended before its topology was built"
        raise HeadraceError(message, detail=f"It called exit({error.code!r}).", at=_line(error, file)) from error
    except Exception as error:
        message = f"{file} raised {type(error).__name__}: {error}"
        hint = "Run it with Python, or with --debug, to see the traceback."
        raise HeadraceError(message, hint=hint, at=_line(error, file)) from error


def _line(error: BaseException, file: Path) -> str | None:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).name == file.name]
    return f"{ours[-1].filename}:{ours[-1].lineno}" if ours else None
