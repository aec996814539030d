"""A table with the values of another one transformed by an object that may use state stores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from headrace.errors import StreamsError
from headrace.processors.api import NodeContext, Processor
from headrace.processors.derived_table import DerivedTable, DerivedValueGetter
from headrace.processors.materialized import ValueGetter
from headrace.processors.storing import StoringProcessor
from headrace.records import NO_HEADERS, NO_TIMESTAMP, Change, Record, RecordContext, ValueAndTimestamp


class ValueTransformer(Protocol):
    """What ``transform_values`` takes: it may look up stores in ``init`` and is asked for each new value."""

    def init(self, context: Any) -> None:
        """Called once, before the first value."""

    def transform(self, key: Any, value: Any) -> Any:
        """The new value; ``value`` may be None."""

    def close(self) -> None:
        """Called once, when the task closes."""


class TransformerContext:
    """The context a transformer sees: its node's, but it cannot forward."""

    def __init__(self, context: NodeContext) -> None:
        self._context = context

    def forward(self, record: object, child: str | None = None) -> NoReturn:
        """Refused: a transformer returns its result."""
        raise StreamsError(
            "a value transformer cannot forward records",
            hint="Return the new value from transform(); to send several records use to_stream().process().",
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


@dataclass
class TableTransformValues(DerivedTable):
    """Transform each value with a new transformer per processor.

    Unlike a mapper, a transformer also sees the value None. It should give the same answer to the same question:
    without a store it is asked again for old values and for look-ups.
    """

    transformer: Callable[[], ValueTransformer]

    def __call__(self) -> Processor:
        if self.store is None:
            return PassingTableTransformValues(self)
        return StoringTableTransformValues(self)

    def getter(self, parent: ValueGetter) -> ValueGetter:
        return TransformingGetter(parent, self.transformer())


class PassingTableTransformValues(Processor):
    """Transforms the new value and, where they are wanted, the old one."""

    def __init__(self, table: TableTransformValues) -> None:
        self._transformer = table.transformer()
        self._send_old_values = table.send_old_values

    def init(self, context: NodeContext) -> None:
        self._transformer.init(TransformerContext(context))
        self._transform = self._transformer.transform
        self._forward = context.forward

    def process(self, record: Record[Any, Change]) -> None:
        change = record.value
        new, old, is_latest = change.new, change.old, change.is_latest
        new = self._transform(record.key, new)
        old = self._transform(record.key, old) if self._send_old_values else None
        self._forward(record.with_value(Change(new, old, is_latest)))

    def close(self) -> None:
        self._transformer.close()


class StoringTableTransformValues(StoringProcessor):
    """Transforms the new value and keeps it."""

    def __init__(self, table: TableTransformValues) -> None:
        assert table.store is not None
        super().__init__(table.store.name, send_old_values=table.send_old_values)
        self._transformer = table.transformer()

    def init(self, context: NodeContext) -> None:
        """Start the transformer, then look up the store."""
        self._transformer.init(TransformerContext(context))
        self._transform = self._transformer.transform
        super().init(context)

    def process(self, record: Record[Any, Change]) -> None:
        new = self._transform(record.key, record.value.new)
        self._keep(record, new, self._held(record.key))

    def close(self) -> None:
        self._transformer.close()


class TransformingGetter(DerivedValueGetter):
    """Looks up a row and transforms it, as if the row were the record being processed."""

    def __init__(self, parent: ValueGetter, transformer: ValueTransformer) -> None:
        super().__init__(parent)
        self._transformer = transformer

    def init(self, context: NodeContext, *, as_flushed: bool = False) -> None:
        """Start the parent's getter, then the transformer."""
        super().init(context, as_flushed=as_flushed)
        self._context = context
        self._transformer.init(TransformerContext(context))

    def compute(self, key: Any, row: ValueAndTimestamp | None) -> ValueAndTimestamp | None:
        """The transformed row; the transformer is asked also where the parent has no row."""
        current = self._context.record_context
        timestamp = NO_TIMESTAMP if row is None else row.timestamp
        headers = NO_HEADERS if row is None else row.headers
        # Where the row once came from is not known any more.
        self._context.record_context = RecordContext(timestamp, -1, -1, None, headers)
        value = self._transformer.transform(key, None if row is None else row.value)
        self._context.record_context = current
        return ValueAndTimestamp.make(value, timestamp, headers)

    def close(self) -> None:
        super().close()
        self._transformer.close()
