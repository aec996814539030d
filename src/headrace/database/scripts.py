"""Files with statements: RUN SCRIPT, and ``headrace sql -f``."""

from __future__ import annotations

from pathlib import Path

from headrace.sql.errors import SqlError


def text_of_file(name: str) -> str:
    """What a file has, as UTF-8; an SqlError where it cannot be read."""
    file = Path(name).expanduser()
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        message = f"{name} is not UTF-8: byte {error.start} is wrong"
        raise SqlError("script.text", message) from None
    except OSError as error:
        hint = f"The working directory is {Path.cwd()}." if not file.is_absolute() else None
        message = f"the file {name} cannot be read: {error.strerror}"
        raise SqlError("script.file", message, hint=hint) from None
