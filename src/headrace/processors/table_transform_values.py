"""A table with the values of another one transformed by an object that may use state stores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

from headrace.errors import StreamsError
from headrace.processors.api import NodeContext
from headrace.processors.derived_table import DerivedTable, RowFunction


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
        raise StreamsError(
            "a value transformer cannot forward records",
            hint="Return the new value from transform(); to send several records use to_stream().process().",
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


class Transforming(RowFunction):
    """Asks a transformer, also where there is no row."""

    sees_context = True

    def __init__(self, transformer: ValueTransformer) -> None:
        super().__init__(transformer.transform)
        self._transformer = transformer

    def init(self, context: NodeContext) -> None:
        self._transformer.init(TransformerContext(context))

    def close(self) -> None:
        self._transformer.close()


@dataclass
class TableTransformValues(DerivedTable):
    """Transform each value with a new transformer per processor.

    Unlike a mapper, a transformer also sees the value None. It should give the same answer to the same question:
    without a store it is asked again for old values and for look-ups.
    """

    transformer: Callable[[], ValueTransformer]

    def function(self) -> RowFunction:
        return Transforming(self.transformer())
