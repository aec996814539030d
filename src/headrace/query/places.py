"""Where replicas keep their files: one place per process, so that any number of them may read at the same time."""

from __future__ import annotations

import hashlib
from pathlib import Path

from headrace.config import StreamsConfig
from headrace.task.lock import OwnDirectory

_DIRECTORY = ".replica"


def replica_directory(config: StreamsConfig) -> Path:
    """Where the replicas of an application lie unless somebody says otherwise, beside the state of its tasks."""
    return config.application_dir / _DIRECTORY


class Place(OwnDirectory):
    """The place of one process."""

    def of_store(self, task_id: str, store: str) -> Path:
        """The directory of a store of a task. A store's name may hold characters that no file name may have."""
        return self.path / task_id / hashlib.sha256(store.encode()).hexdigest()[:32]
