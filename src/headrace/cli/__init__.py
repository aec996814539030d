"""The command line: ``headrace`` and its commands, one module each. It needs the extra ``headrace[cli]``."""

from __future__ import annotations

import importlib
import sys

__all__ = ["main"]

_EXTRA = frozenset({"typer", "rich"})


def main() -> None:
    """What the console script ``headrace`` runs; it ends the process with an exit code of ``headrace.cli.exits``."""
    try:
        program = importlib.import_module("headrace.cli.app")
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        sys.stderr.write(
            f"error: the command line needs a package that is not installed: {error.name}\n"
            "  hint: Install it with: pip install 'headrace[cli]'\n"
        )
        sys.exit(1)
    program.run()
