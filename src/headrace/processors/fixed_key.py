"""Runs a user's processor that may not change keys: ``KStream.process_values``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.errors import StreamsError
from headrace.processors.api import FixedKeyProcessor, NodeContext, Processor, provided_stores
from headrace.processors.stateless import Fusible
from headrace.records import FixedKeyRecord, Record, RecordContext


class FixedKeyContext:
    """The context of such a processor: all of the node's, but ``forward`` takes only records with the key it gave."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._forward = context.forward

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    @property
    def record_context(self) -> RecordContext | None:
        """Asked for with every record by some, so found without searching."""
        return self._context.record_context

    def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
        """Forward a record that was made from the one being processed."""
        if type(record) is not FixedKeyRecord:
            raise StreamsError(
                "a processor of process_values() can only forward the record it was given, changed by with_value() "
                "and the like",
                detail=f"got {record!r}",
                hint="Use process() where new records are made.",
            )
        # Whoever comes next may change the key again.
        plain: Record[Any, Any] = Record(record.key, record.value, record.timestamp, record.headers)
        self._forward(plain) if child is None else self._forward(plain, child)


class FixedKeyNode(Processor):
    """Hands records to the user's processor as fixed-key records."""

    def __init__(self, inner: FixedKeyProcessor | Processor) -> None:
        self.inner = inner
        self._process = inner.process

    def init(self, context: NodeContext) -> None:
        self.inner.init(FixedKeyContext(context))

    def process(self, record: Record[Any, Any]) -> None:
        self._process(FixedKeyRecord(record.key, record.value, record.timestamp, record.headers))

    def close(self) -> None:
        self.inner.close()

    @property
    def fusible(self) -> Fusible | None:
        """What the processor does to a record, where it says so: then it is not asked for each record."""
        found = getattr(self.inner, "fusible", None)
        return found if isinstance(found, Fusible) else None


@dataclass(frozen=True)
class FixedKeySupplier:
    """Supplies the user's processors, wrapped; brings along the stores of the user's supplier."""

    supplier: Callable[[], FixedKeyProcessor | Processor]

    def __call__(self) -> FixedKeyNode:
        return FixedKeyNode(self.supplier())

    @property
    def stores(self) -> tuple[Any, ...]:
        return provided_stores(self.supplier)
