"""The ``.checkpoint`` file: how far each changelog partition has been applied to the local stores.

Kafka Streams' own text format: a version, a count, then ``topic partition offset`` per line. A task whose state has
versions adds lines of the same form under names that no topic can have: which version of the stores the offsets belong
to, and a checksum.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from headrace.errors import ArgumentError, StoreError
from headrace.records import TopicPartition
from headrace.state.rocksdb.failures import explained
from headrace.state.version import Version

FILE_NAME = ".checkpoint"
OFFSET_UNKNOWN = -4
"""Stands for a store that is in use but whose offset nobody knows."""

_VERSION = 0
_AT = "#at"
_CHECKSUM = "#crc32"
_HINT = "Delete the task's directory; its state comes back from the changelog."


def write_checkpoint(path: Path, offsets: Mapping[TopicPartition, int], *, at: Version | None = None) -> None:
    """Replace the file at once, so that a crash leaves the old or the new one; no offsets delete it.

    ``at`` is the version of the stores at which the changelogs were applied up to these offsets.
    """
    if not offsets:
        path.unlink(missing_ok=True)
        return
    lines = [str(_VERSION), str(len(offsets))]
    for (topic, partition), offset in offsets.items():
        if not _is_valid(offset):
            message = f"the checkpoint cannot hold the offset {offset} of {topic}-{partition}"
            raise ArgumentError(message)
        lines.append(f"{topic} {partition} {offset}")
    if at is not None:
        lines += [f"{_AT} {place} {number}" for place, number in enumerate(at)]
        lines[1] = str(len(lines) - 1)
        lines.append(f"{_CHECKSUM} 0 {_checksum(lines)}")
    replace_text(path, "\n".join(lines) + "\n")


def draft_of(path: Path) -> Path:
    """Where a file is written before it takes the place of the one at ``path``."""
    return path.with_name(f"{path.name}.tmp")


def replace_text(path: Path, text: str) -> None:
    """Replace a file at once: it survives a crash of the machine as the old or as the new one."""
    draft = draft_of(path)
    with explained(path, len(text)):
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)


def read_checkpoint(path: Path) -> dict[TopicPartition, int]:
    """The offsets in the file, those without meaning left out; none where there is no file."""
    return {name: offset for name, offset in _entries(path).items() if not name[0].startswith("#")}


def checkpoint_version(path: Path) -> Version | None:
    """The version of the stores that the offsets belong to; None where the file does not say."""
    entries = _entries(path)
    numbers = [entries[_AT, place] for place in range(len(entries)) if (_AT, place) in entries]
    return Version(*numbers) if numbers else None


def _entries(path: Path) -> dict[TopicPartition, int]:
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        lines = text.decode().splitlines()
    except UnicodeDecodeError:
        lines = []
    if len(lines) < 2 or lines[0] != str(_VERSION):
        message = f"{path} is no checkpoint file of version {_VERSION}"
        raise StoreError(message, hint=_HINT)
    entries = [_parse(path, line) for line in lines[2:]]
    if lines[1] != str(len(entries)):
        message = f"{path} announces {lines[1]!r} entries but holds {len(entries)}"
        raise StoreError(message, hint=_HINT)
    if any(line.startswith("#") for line in lines) and entries[-1] != ((_CHECKSUM, 0), _checksum(lines[:-1])):
        message = f"{path} is not as it was written"
        raise StoreError(message, hint=_HINT)
    return {partition: offset for partition, offset in entries if _is_valid(offset)}


def _checksum(lines: Iterable[str]) -> int:
    return zlib.crc32("\n".join(lines).encode())


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
