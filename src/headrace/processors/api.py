"""The Processor API: what users implement, and the contexts they are handed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol

from headrace.durations import Duration
from headrace.errors import OperatorTypeError
from headrace.records import FixedKeyRecord, Headers, Record, RecordContext, RecordMetadata
from headrace.type_variables import KIn, KOut, VIn, VOut

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.metrics import StreamsMetrics
    from headrace.serde import Serde


class PunctuationType(Enum):
    """Which clock drives a punctuation: the timestamps of the records, or the clock on the wall.

    Stream time stands still while no records come; wall-clock time does not.
    """

    STREAM_TIME = "stream_time"
    WALL_CLOCK_TIME = "wall_clock_time"


def check_clock(punctuation: Any, at: str | None) -> None:
    """Refuse what is no PunctuationType: the name of one would be taken for the other clock."""
    if not isinstance(punctuation, PunctuationType):
        message = f"schedule(): punctuation must be a PunctuationType, not {punctuation!r}"
        hint = "It is PunctuationType.STREAM_TIME or PunctuationType.WALL_CLOCK_TIME."
        raise OperatorTypeError(message, hint=hint, at=at)


Punctuator = Callable[[int], None]
"""Called with the current time of its clock, in milliseconds."""


class Cancellable(Protocol):
    """A scheduled punctuation."""

    def cancel(self) -> None:
        """Never call the punctuator again."""


class ProcessingContext(Protocol):
    """What a processor can ask about its surroundings.

    ``record_metadata`` is where the current record came from; topic None, partition and offset -1 while punctuating.
    ``current_stream_time_ms`` is the highest timestamp the task has seen, -1 before the first.
    """

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
        """The state store ``name``, which must be connected to this processor (or be a global store, read-only)."""

    def schedule(
        self, interval: Duration, punctuation: PunctuationType, callback: Punctuator, start: int | None = None
    ) -> Cancellable:
        """Call ``callback(time)`` every ``interval`` of the given clock (``start`` anchors the grid, KIP-1146).

        A schedule that has been due several times fires once. An interval below a millisecond is an ArgumentError.
        """

    def commit(self) -> None:
        """Ask for a commit soon."""

    def app_configs(self) -> Mapping[str, Any]: ...
    def app_configs_with_prefix(self, prefix: str) -> Mapping[str, Any]: ...


class ProcessorContext(ProcessingContext, Protocol[KOut, VOut]):
    """The context of a processor: it can also forward."""

    def forward(self, record: Record[KOut, VOut], child: str | None = None) -> None:
        """Hand ``record`` to all children, in the order they were attached, or to the one called ``child``.

        Returns when the children are done with it. Forwarding in ``init``, or from outside the task, is an error.
        """


class NodeContext(ProcessorContext[Any, Any], Protocol):
    """What the context gives to Headrace's own operators beyond the public part."""

    record_context: RecordContext | None
    """The current record's origin; a cache or buffer sets it while it lets older records go."""

    @property
    def config(self) -> StreamsConfig: ...
    @property
    def node_name(self) -> str: ...

    def forward_parts(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        """``forward`` to all children without making a ``Record`` first; some children can do without one."""

    def drop(self, reason: str) -> None:
        """Count the current record as dropped (``dropped-records``) for ``reason``, with a warning in the log."""

    def internal_topic(self, suffix: str) -> str:
        """``<application id or topic prefix>-<suffix>``."""

    def processor_metadata(self, key: str) -> int | None:
        """A number that travels with the committed offsets (the last window close that was emitted)."""

    def set_processor_metadata(self, key: str, value: int) -> None: ...


class _Forwarding(Generic[KOut, VOut]):
    """What both kinds of processors have."""

    context: ProcessorContext[KOut, VOut]

    if not TYPE_CHECKING:

        def __class_getitem__(cls, types: Any) -> type:
            # Types are for type checkers, which also accept fewer than there are; Python before 3.13 would not.
            return cls

    def init(self, context: Any) -> None:
        """Called once, before the first record. Look up stores and schedule here, after ``super().init(context)``."""
        self.context = context

    def close(self) -> None:
        """Called once, when the task closes."""


class Processor(_Forwarding[KOut, VOut], Generic[KIn, VIn, KOut, VOut]):
    """A node of a topology written by hand.

    ``init`` keeps the context; call ``self.context.forward(record)`` in ``process``, any number of times or never. An
    error that leaves ``process`` goes to the processing exception handler. One object belongs to one task: it needs no
    locks and shares nothing. ``Processor[str, int, str, float]`` tells type checkers the types of the keys and values
    that come in and go out.

    >>> class Shout(Processor):
    ...     def process(self, record):
    ...         self.context.forward(record.with_value(record.value + "!"))
    >>> builder = StreamsBuilder()
    >>> builder.stream("in").process(Shout).to("out")
    >>> run(builder, ("a", "x"))
    [('a', 'x!')]
    """

    def process(self, record: Record[KIn, VIn]) -> None:
        """Called for each record, one at a time. The record may be kept: nobody changes it."""
        raise NotImplementedError


class FixedKeyProcessor(_Forwarding[KIn, VOut], Generic[KIn, VIn, VOut]):
    """A processor that cannot change the key: what ``process_values`` takes. Its records are ``FixedKeyRecord``."""

    def process(self, record: FixedKeyRecord[KIn, VIn]) -> None:
        """Called for each record, one at a time; forward what ``record.with_value(...)`` gives."""
        raise NotImplementedError


def provided_stores(supplier: Any) -> tuple[Any, ...]:
    """The store builders a supplier brings along: its ``stores`` attribute, a collection or a method."""
    stores = getattr(supplier, "stores", None)
    if callable(stores):
        stores = stores()
    return tuple(stores or ())
