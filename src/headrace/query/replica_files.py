"""The files of replicas: where they are, how far each has come, and what its store remembers beside its entries.

The note of how far is only there while the store is as it says: it is taken away before anything is applied, and
written again after. A replica without it, or with one that does not fit, is built anew.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from headrace.config import StreamsConfig
from headrace.machine import boot_id
from headrace.task.lock import OwnDirectory

_DIRECTORY = ".replica"
_NAME = ".position"


def replica_directory(config: StreamsConfig) -> Path:
    """Where the replicas of an application lie unless somebody says otherwise, beside the state of its tasks."""
    return config.application_dir / _DIRECTORY


class ReplicaDirectory(OwnDirectory):
    """That of one process, so that any number of them may read at the same time."""

    def of_store(self, task_id: str, store: str) -> Path:
        """The directory of a store of a task. A store's name may hold characters that no file name may have."""
        return self.path / task_id / hashlib.sha256(store.encode()).hexdigest()[:32]


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
    snapshot: list[dict[str, Any]] = msgspec.field(name="kept")


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
    """Replace the file at once; nothing where the directory is gone.

    The process that resets or drops an application removes it, and there is nothing left to go on from.
    """
    draft = directory / f"{_NAME}.tmp"
    with suppress(FileNotFoundError):
        draft.write_bytes(_dump(position))
        draft.replace(directory / _NAME)


def remove_position(directory: Path) -> None:
    """Remove the file before the store is changed: a half-applied store must not look complete."""
    (directory / _NAME).unlink(missing_ok=True)
