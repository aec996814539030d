"""SPOOL: what a shell shows is also written to a file, until SPOOL OFF."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import TextIO

from headrace.sql.errors import SqlError

_STYLES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Spool:
    """Keeps what goes to the standard output and the standard error, without colours."""

    def __init__(self) -> None:
        self._kept: TextIO | None = None
        self._screens: tuple[TextIO, TextIO] | None = None

    def __call__(self, file: str | None) -> str:
        """Begin a file, which is made anew, or end the one there is; say which."""
        if file is None and self._kept is None:
            raise SqlError("spool.off", "nothing is kept now", hint="SPOOL 'file'; begins to.")
        opened = None if file is None else _opened(file)
        self.close()
        if opened is None:
            return "Nothing is kept any more"
        self._kept, self._screens = opened, (sys.stdout, sys.stderr)
        sys.stdout, sys.stderr = _Both(sys.stdout, opened), _Both(sys.stderr, opened)
        return f"What is shown is kept in {file}"

    def typed(self, text: str) -> None:
        """Keep what the user typed, which the terminal shows by itself."""
        if self._kept is not None:
            self._kept.write(text)

    def close(self) -> None:
        """End the file."""
        if self._kept is not None and self._screens is not None:
            sys.stdout, sys.stderr = self._screens
            self._kept.close()
        self._kept = self._screens = None


class _Both(io.TextIOBase):
    """Writes to the screen and to the file; in all else it is the screen."""

    def __init__(self, screen: TextIO, kept: TextIO) -> None:
        self._screen, self._kept = screen, kept

    def write(self, text: str, /) -> int:
        self._kept.write(_STYLES.sub("", text))
        return self._screen.write(text)

    def flush(self) -> None:
        self._kept.flush()
        self._screen.flush()

    def isatty(self) -> bool:
        return self._screen.isatty()

    def fileno(self) -> int:
        return self._screen.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._screen.encoding


def _opened(file: str) -> TextIO:
    try:
        return Path(file).expanduser().open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        message = f"the file {file} cannot be written: {error.strerror}"
        raise SqlError("spool.file", message) from None
