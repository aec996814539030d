"""Where the test driver keeps the files of its stores, until it is closed."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.state.shared_memory import SHARED_MEMORY

if TYPE_CHECKING:
    from headrace.config import StreamsConfig


class StateDirectory:
    """The directory of one application: below ``state.dir``, or else a temporary one, made when it is asked for."""

    def __init__(self, config: StreamsConfig) -> None:
        self._config = config
        self._path: Path | None = None

    def path(self) -> Path:
        """Where the directory is."""
        if self._path is None:
            if "state.dir" in self._config:
                self._path = self._config.application_dir
            else:
                self._path = Path(tempfile.mkdtemp(prefix="headrace-test-", dir=_memory_directory()))
        return self._path

    def remove(self) -> None:
        """Delete what there is."""
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)


def _memory_directory() -> Path | None:
    """Where files cost no disk, if there is such a place: what the driver keeps is deleted at its end."""
    return SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None
