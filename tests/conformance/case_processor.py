"""What the processors of cases have in common, and how they show what they see."""

from __future__ import annotations

from typing import Any

from headrace import Processor, ValueAndTimestamp, VersionedRecord
from tests.conformance.functions import Function, SideLog, text


def show(x: Any) -> str:
    """``show(x)`` of the case format."""
    if isinstance(x, ValueAndTimestamp):
        return f"{text(x.value)}@{x.timestamp}"
    if isinstance(x, VersionedRecord):
        end = "" if x.valid_to is None else f"<{x.valid_to}"
        return f"{text(x.value)}@{x.timestamp}{end}"
    return text(x)


def where(context: Any) -> str:
    """The metadata of the current record as text."""
    metadata = context.record_metadata
    if metadata is None:
        return "none"
    return f"{text(metadata.topic)}-{metadata.partition}@{metadata.offset}"


class CaseProcessor(Processor):
    """What all have in common."""

    def __init__(self, spec: Function, log: SideLog) -> None:
        self.spec, self.log, self.arg = spec, log, spec.get("arg")

    def init(self, context: Any) -> None:
        """Keep the context and the store."""
        super().init(context)
        self.store = context.store(self.spec["store"]) if "store" in self.spec else None

    def forward(self, record: Any, value: Any) -> None:
        """The same record with this value."""
        self.context.forward(record.with_value(value))

    def process(self, record: Any) -> None:
        """Forward it as it is."""
        self.context.forward(record)
