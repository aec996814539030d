"""The directory of staged files: a local one, or any place that ``pyarrow.fs`` opens."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import pyarrow.fs

from headrace.errors import ConfigError, CorruptLogError
from headrace.private_directories import make_private

_OWNER = "owner-"


class StagingDirectory:
    """Where staged files are. ``location`` is a path, or an address that ``pyarrow.fs`` opens.

    Several clusters may share it, and have applications of one name: ``cluster`` tells which one is meant.
    """

    def __init__(self, location: str, cluster: Callable[[], str]) -> None:
        self.location, self._cluster = location, cluster
        self._is_local = "://" not in location
        if self._is_local:
            self._files, self._root = pyarrow.fs.LocalFileSystem(), str(Path(location).expanduser().absolute())
        else:
            try:
                self._files, self._root = pyarrow.fs.FileSystem.from_uri(location)
            except (pyarrow.ArrowInvalid, OSError) as error:
                message = f"staging.dir cannot be opened: {location}"
                raise ConfigError(
                    message, detail=str(error), hint="Give a directory, or what pyarrow.fs opens."
                ) from error

    def folder(self, application: str) -> str:
        """What the names of the files of an application begin with."""
        return f"{application}/{self._cluster()}/"

    def path(self, name: str) -> str:
        """Where the file of that name is."""
        return f"{self._root}/{name}"

    @contextmanager
    def new(self, name: str) -> Iterator[IO[bytes]]:
        """A new file; at the end of the block it outlives a loss of power where it is on this machine's disk."""
        path = self.path(name)
        self._make_parent(path)
        if not self._is_local:
            with self._files.open_output_stream(path) as stream:
                yield stream
            return
        with Path(path).open("xb") as file:
            os.chmod(file.fileno(), 0o600)
            yield file
            file.flush()
            os.fsync(file.fileno())

    def open(self, name: str) -> IO[bytes]:
        """A file to read; an error that says what it is for where it is gone."""
        try:
            return self._files.open_input_stream(self.path(name))  # type: ignore[no-any-return]
        except FileNotFoundError as error:
            message = f"a staged file is gone: {self.path(name)}"
            hint = "It holds results that count and are not published. Bring it back, or reset the application."
            raise CorruptLogError(message, hint=hint) from error

    def remove(self, name: str) -> None:
        """Let a file go."""
        with suppress(FileNotFoundError):
            self._files.delete_file(self.path(name))

    def names(self, application: str) -> list[str]:
        """The files of an application."""
        folder = self.folder(application)
        selector = pyarrow.fs.FileSelector(self.path(folder), allow_not_found=True)
        return [f"{folder}{each.base_name}" for each in self._files.get_file_info(selector)]

    def sign(self, application: str, token: str) -> None:
        """Leave a sign of the owner, by which others see that they look into the same place."""
        with self.new(self.name_of_sign(application, token)):
            pass

    def name_of_sign(self, application: str, token: str) -> str:
        return f"{self.folder(application)}{_OWNER}{token}"

    def check_shared(self, application: str, token: str) -> None:
        """An error where this is not the directory into which the owner of the application looks."""
        found = self._files.get_file_info(self.path(self.name_of_sign(application, token)))
        if found.type != pyarrow.fs.FileType.File:
            message = f"staging.dir is not the same place for all processes of the application: {self.location}"
            hint = (
                "Set staging.dir to a directory that the driver and all workers reach, or to an address that "
                "pyarrow.fs opens (hdfs://, s3://)."
            )
            raise ConfigError(message, hint=hint)

    def _make_parent(self, path: str) -> None:
        parent = path.rpartition("/")[0]
        if self._is_local:
            make_private(Path(parent))
        else:
            self._files.create_dir(parent, recursive=True)
