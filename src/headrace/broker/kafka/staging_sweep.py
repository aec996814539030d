"""Staged files that nobody will publish: of attempts that were not decided, and of owners that were replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.broker.kafka.control import OwnerRecord
    from headrace.broker.kafka.staging_directory import StagingDirectory


def file_name(application: str, epoch: int, batch_id: int, attempt: str) -> str:
    """The name of a staged file."""
    return f"{application}/{epoch}-{batch_id}-{attempt}.staged"


def sweep(directory: StagingDirectory, application: str, owner: OwnerRecord) -> None:
    """Remove what earlier owners left. Not before everything they decided is published."""
    for name in directory.names(application):
        if not name.startswith((f"{application}/{owner.epoch}-", f"{application}/owner-{owner.token}")):
            directory.remove(name)


def sweep_batches(directory: StagingDirectory, application: str, epoch: int, last: int) -> None:
    """Remove what attempts of batches up to ``last`` left that were not decided."""
    prefix = f"{application}/{epoch}-"
    for name in directory.names(application):
        if name.startswith(prefix) and int(name.removeprefix(prefix).partition("-")[0]) <= last:
            directory.remove(name)
