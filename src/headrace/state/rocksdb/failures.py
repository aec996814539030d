"""What the disk under a store says, as errors that name the path and the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.errors import HeadraceError, StateDirectoryError, StreamsError, TaskCorruptedError

_CORRUPT = ("Corruption",)
_NO_SPACE = ("No space left", "File too large", "quota exceeded")
_NO_ACCESS = ("Permission denied", "Operation not permitted", "Read-only file system")
_TOO_MANY_FILES = ("Too many open files",)


@contextmanager
def explained(path: Path, needed: int = 0) -> Iterator[None]:
    """Turn what RocksDB or the operating system says about ``path`` into an error of ours."""
    try:
        yield
    except HeadraceError:
        raise
    except Exception as error:
        raise explanation(error, path, needed) from error


def explanation(error: Exception, path: Path, needed: int = 0) -> StreamsError:
    """The error of ours; ``needed`` is how many bytes were to be written."""
    text = str(error)
    if is_corruption(error):
        message = f"the database {path} is corrupt"
        hint = "Start again: it is removed, and what it held comes back from the changelog."
        return TaskCorruptedError(message, detail=text, hint=hint)
    if any(sign in text for sign in _NO_SPACE):
        message = f"no space left to write {needed:,} bytes to {path}"
        hint = "Free space and start again; nothing was committed."
        return StateDirectoryError(message, detail=text, hint=hint)
    if any(sign in text for sign in _NO_ACCESS):
        message = f"no access to {path}"
        hint = "state.dir must be writable by, and belong to, the user who runs Headrace."
        return StateDirectoryError(message, detail=text, hint=hint)
    if any(sign in text for sign in _TOO_MANY_FILES):
        message = f"too many files are open: there is no room for {path}"
        hint = "Nothing was committed. Raise the limit with ulimit -n, then start again."
        return StateDirectoryError(message, detail=text, hint=hint)
    message = f"the disk failed at {path}"
    return StateDirectoryError(message, detail=text, hint="Nothing was committed. Check the disk, then start again.")


def is_corruption(error: Exception) -> bool:
    """Whether what is in the files is not what was written."""
    return any(sign in str(error) for sign in _CORRUPT)
