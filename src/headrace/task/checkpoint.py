"""The ``.checkpoint`` file: how far each changelog partition has been applied to the local stores.

Kafka Streams' own text format: a version, a count, then ``topic partition offset`` per line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from headrace.errors import ArgumentError, StoreError

FILE_NAME = ".checkpoint"
OFFSET_UNKNOWN = -4
"""Stands for a store that is in use but whose offset nobody knows."""

_VERSION = 0

TopicPartition: TypeAlias = tuple[str, int]


def write_checkpoint(path: Path, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace the file at once, so that a crash leaves the old or the new one; no offsets delete it."""
    if not offsets:
        path.unlink(missing_ok=True)
        return
    lines = [str(_VERSION), str(len(offsets))]
    for (topic, partition), offset in offsets.items():
        if not _is_valid(offset):
            message = f"the checkpoint cannot hold the offset {offset} of {topic}-{partition}"
            raise ArgumentError(message)
        lines.append(f"{topic} {partition} {offset}")
    draft = path.with_name(path.name + ".tmp")
    with draft.open("w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def read_checkpoint(path: Path) -> dict[TopicPartition, int]:
    """The offsets in the file, those without meaning left out; none where there is no file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    if len(lines) < 2 or lines[0] != str(_VERSION):
        message = f"{path} is no checkpoint file of version {_VERSION}"
        raise StoreError(message, hint="Delete the task's directory; its state comes back from the changelog.")
    entries = [_parse(path, line) for line in lines[2:]]
    if len(entries) != int(lines[1]):
        message = f"{path} announces {lines[1]} entries but holds {len(entries)}"
        raise StoreError(message, hint="Delete the task's directory; its state comes back from the changelog.")
    return {partition: offset for partition, offset in entries if _is_valid(offset)}


def _parse(path: Path, line: str) -> tuple[TopicPartition, int]:
    pieces = line.split()
    try:
        topic, partition, offset = pieces
        return (topic, int(partition)), int(offset)
    except ValueError:
        message = f"{path} has a malformed line: {line!r}"
        raise StoreError(message) from None


def _is_valid(offset: int) -> bool:
    return offset >= 0 or offset == OFFSET_UNKNOWN
