"""How many records and bytes went through a topic; counted where they pass, read by a gauge."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.records import Headers

_FRAME_BYTES = 8 + 8 + 4  # timestamp, offset, partition


@dataclass(slots=True)
class TopicCount:
    """Records and their size as Kafka Streams reckons it: key, value, headers, topic name and frame.

    The numbers are public because this is counted for every record: whoever counts adds to them.
    """

    topic: str
    records: int = 0
    content_bytes: int = 0

    @property
    def size(self) -> int:
        return self.content_bytes + self.records * (_FRAME_BYTES + len(self.topic.encode()))

    def add(self, key: bytes | None, value: bytes | None, headers: Headers) -> None:
        self.records += 1
        self.content_bytes += len(key or b"") + len(value or b"")
        if headers:
            self.add_headers(headers)

    def add_headers(self, headers: Headers) -> None:
        self.content_bytes += sum(len(name.encode()) + len(held or b"") for name, held in headers)
