"""The command line: ``headrace`` and its commands, one module each. It needs the extra ``headrace[cli]``."""

from __future__ import annotations

import sys

from headrace.errors import UnsupportedError
from headrace.optional import extra_for

__all__ = ["main"]


def main() -> None:
    """What the console script ``headrace`` runs; it ends the process with an exit code of ``headrace.cli.exits``."""
    try:
        with extra_for("the command line"):
            from headrace.cli.app import run  # noqa: PLC0415
    except UnsupportedError as error:
        sys.exit(f"error: {error}")
    run()
