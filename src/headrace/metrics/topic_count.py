"""How many records and bytes went through a topic; counted where they pass, read by a gauge."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.records import Headers

_FRAME_BYTES = 8 + 8 + 4  # timestamp, offset, partition


@dataclass(slots=True)
class TopicCount:
    """Records and their size as Kafka Streams reckons it: key, value, headers, topic name and frame."""

    records: int = 0
    bytes: int = 0

    def add(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        """Count one record."""
        self.records += 1
        size = _FRAME_BYTES + len(topic)
        if key is not None:
            size += len(key)
        if value is not None:
            size += len(value)
        if headers:
            size += sum(len(name) + len(held or b"") for name, held in headers)
        self.bytes += size
