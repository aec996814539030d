"""How far a replica on disk has come, and what its store remembers beside its entries.

The file is only there while the store is as it says: it is taken away before anything is applied, and written again
after. A replica without it, or with one that does not fit, is built anew.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

_NAME = ".position"


class ReplicaPosition(msgspec.Struct, frozen=True):
    """Up to where a partition of a topic was applied."""

    topic: str
    partition: int
    offset: int
    topic_id: str
    """Tells the topic from a later one of the same name."""
    store_kind: str
    caught_up_ms: int
    boot: str
    kept: list[dict[str, Any]]


_read = msgspec.msgpack.Decoder(ReplicaPosition).decode
_dump = msgspec.msgpack.Encoder().encode


def read_position(directory: Path) -> ReplicaPosition | None:
    """What was written last; None where there is nothing, or where the machine was started again since.

    Nothing is synced to disk here: what is lost with the machine comes back from the changelog.
    """
    try:
        found = _read((directory / _NAME).read_bytes())
    except (FileNotFoundError, msgspec.MsgspecError):
        return None
    return found if found.boot == boot_id() else None


def write_position(directory: Path, position: ReplicaPosition) -> None:
    """Replace the file at once."""
    draft = directory / f"{_NAME}.tmp"
    draft.write_bytes(_dump(position))
    draft.replace(directory / _NAME)


def remove_position(directory: Path) -> None:
    """Remove the file before the store is changed: a half-applied store must not look complete."""
    (directory / _NAME).unlink(missing_ok=True)


@lru_cache(maxsize=1)
def boot_id() -> str:
    """Tells this start of the machine from others; empty where that cannot be known."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
