"""Directories that only their owner can look into: they hold what users send."""

from __future__ import annotations

from pathlib import Path

MODE = 0o700


def make_private(path: Path) -> None:
    """Make a directory, and those above it that are missing; what exists stays as it is.

    ``Path.mkdir`` gives its mode to the last directory only: those above it would be open to everybody.
    """
    if not path.is_dir():
        if path != path.parent:
            make_private(path.parent)
        path.mkdir(mode=MODE, exist_ok=True)
