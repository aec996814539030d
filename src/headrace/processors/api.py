"""The Processor API: what users implement, and the contexts they are handed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from headrace.durations import Duration
from headrace.records import Record, RecordContext, RecordMetadata

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.metrics import StreamsMetrics
    from headrace.serde import Serde


class PunctuationType(Enum):
    """Which clock drives a punctuation."""

    STREAM_TIME = "stream_time"
    WALL_CLOCK_TIME = "wall_clock_time"


Punctuator = Callable[[int], None]
"""Called with the current time of its clock, in milliseconds."""


class Cancellable(Protocol):
    """A scheduled punctuation."""

    def cancel(self) -> None:
        """Never call the punctuator again."""


class ProcessingContext(Protocol):
    """What a processor can ask about its surroundings."""

    @property
    def application_id(self) -> str: ...
    @property
    def task_id(self) -> str: ...
    @property
    def record_metadata(self) -> RecordMetadata | None: ...
    @property
    def key_serde(self) -> Serde[Any]: ...
    @property
    def value_serde(self) -> Serde[Any]: ...
    @property
    def state_dir(self) -> Path: ...
    @property
    def metrics(self) -> StreamsMetrics: ...
    @property
    def current_system_time_ms(self) -> int: ...
    @property
    def current_stream_time_ms(self) -> int: ...

    def store(self, name: str) -> Any:
        """The state store ``name``, which must be connected to this processor (or be a global store)."""

    def schedule(
        self, interval: Duration, punctuation: PunctuationType, callback: Punctuator, start: int | None = None
    ) -> Cancellable:
        """Call ``callback`` every ``interval`` of the given clock (``start`` anchors the grid, KIP-1146)."""

    def commit(self) -> None:
        """Ask for a commit soon."""

    def app_configs(self) -> Mapping[str, Any]: ...
    def app_configs_with_prefix(self, prefix: str) -> Mapping[str, Any]: ...


class ProcessorContext(ProcessingContext, Protocol):
    """The context of a processor: it can also forward."""

    def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
        """Hand ``record`` to all children, in the order they were attached, or to the one called ``child``."""


class NodeContext(ProcessorContext, Protocol):
    """What the context gives to Headrace's own operators beyond the public part."""

    record_context: RecordContext | None
    """The current record's origin; a cache or buffer sets it while it lets older records go."""

    @property
    def config(self) -> StreamsConfig: ...
    @property
    def node_name(self) -> str: ...

    def drop(self, reason: str) -> None:
        """Count the current record as dropped (``dropped-records``) for ``reason``, with a warning in the log."""

    def internal_topic(self, suffix: str) -> str:
        """``<application id or topic prefix>-<suffix>``."""

    def processor_metadata(self, key: str) -> int | None:
        """A number that travels with the committed offsets (the last window close that was emitted)."""

    def set_processor_metadata(self, key: str, value: int) -> None: ...


class Processor:
    """A node of a topology written by hand.

    Keep the context in ``init``, call ``self.context.forward(record)`` in ``process``.
    """

    context: Any

    def init(self, context: Any) -> None:
        """Called once, before the first record. Look up stores and schedule punctuations here."""
        self.context = context

    def process(self, record: Any) -> None:
        """Called for each record."""
        raise NotImplementedError

    def close(self) -> None:
        """Called once, when the task closes."""


class FixedKeyProcessor(Processor):
    """A processor that cannot change the key: what ``process_values`` takes."""


ProcessorSupplier = Callable[[], Processor]
"""A class or zero-argument callable that gives a new processor each time. It may carry ``stores``."""


def provided_stores(supplier: Any) -> tuple[Any, ...]:
    """The store builders a supplier brings along: its ``stores`` attribute, a collection or a method."""
    stores = getattr(supplier, "stores", None)
    if callable(stores):
        stores = stores()
    return tuple(stores or ())
