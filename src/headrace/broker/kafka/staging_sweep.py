"""Staged files that nobody will publish: of attempts that were not decided, and of owners that were replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.broker.kafka.control import OwnerRecord
    from headrace.broker.kafka.staging_directory import StagingDirectory


def file_name(directory: StagingDirectory, application: str, epoch: int, batch_id: int, attempt: str) -> str:
    """The name of a staged file."""
    return f"{directory.folder(application)}{epoch}-{batch_id}-{attempt}.staged"


def sweep(directory: StagingDirectory, application: str, owner: OwnerRecord) -> None:
    """Remove what earlier owners left. Not before everything they decided is published."""
    kept = f"{directory.folder(application)}{owner.epoch}-", directory.name_of_sign(application, owner.token)
    for name in directory.names(application):
        if not name.startswith(kept):
            directory.remove(name)


def sweep_batches(directory: StagingDirectory, application: str, epoch: int, last: int) -> None:
    """Remove what attempts of batches up to ``last`` left that were not decided."""
    prefix = f"{directory.folder(application)}{epoch}-"
    for name in directory.names(application):
        if name.startswith(prefix) and int(name.removeprefix(prefix).partition("-")[0]) <= last:
            directory.remove(name)
