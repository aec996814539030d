"""Records of a reference and of a broker in the one form in which they are compared."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, NamedTuple

from headrace.records import Headers, RawRecord
from tests.conformance.adapter import Program
from tests.conformance.agreement import Shown
from tests.conformance.references import Written
from tests.conformance.runner import CaseRun
from tests.conformance.specs import Json

_ESTIMATE = re.compile(r"^count -> \d+$")


class _Record(NamedTuple):
    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers


class Showing:
    """Shows the records of a case: those of internal topics as bytes, others as the case names their serdes.

    ``without_offsets`` are changelogs of buffers, whose rows hold the offset of the record they came from. In a
    repartition topic that offset depends on which of several tasks sent first.
    """

    def __init__(self, case: Json, without_offsets: Collection[str] = ()) -> None:
        self._without_offsets = without_offsets
        self._run = CaseRun(case, Program(case))

    def written(self, record: Written) -> Shown:
        """A record of a reference."""
        task, topic, partition, timestamp, key, value, headers = record
        return self._shown(_Record(topic, key, value, timestamp, headers), partition, task)

    def logged(self, record: RawRecord) -> Shown:
        """A record of a broker."""
        topic, partition, _, timestamp, key, value, headers = record
        return self._shown(_Record(topic, key, value, timestamp, headers), partition, "")

    def _shown(self, record: _Record, partition: int | None, task: str) -> Shown:
        if record.topic in self._without_offsets and record.value is not None:
            record = record._replace(value=record.value[:8] + bytes(8) + record.value[16:])
        show = self._run._internal if record.topic.startswith("app-") else self._run._output
        parts = show(record)
        if isinstance(parts["value"], str):
            # How many entries a store has is an estimate, which depends on what has reached the disk.
            parts["value"] = _ESTIMATE.sub("count -> *", parts["value"])
        return Shown(
            record.topic,
            partition,
            None if record.key is None else _text(parts["key"]),
            None if record.value is None else _text(parts["value"]),
            record.timestamp,
            _text(parts.get("headers", [])),
            task,
        )


def _text(x: Any) -> str:
    return json.dumps(x, ensure_ascii=False)
