"""A context for testing one processor alone: it captures what the processor forwards, schedules and commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.config import StreamsConfig
from headrace.durations import Duration, to_ms
from headrace.errors import ArgumentError, IllegalStateError, UnsupportedError, user_line
from headrace.functions import check_function
from headrace.metrics import RecordingLevel, StreamsMetrics
from headrace.processors.api import PunctuationType, Punctuator, check_clock
from headrace.records import Record, RecordContext, RecordMetadata
from headrace.state.cache import ThreadCache
from headrace.state.contracts import ChangeLogger, CurrentRecord, RestoreCallback, StateStore

if TYPE_CHECKING:
    from headrace.serde import Serde


class CapturedForward(NamedTuple):
    """A record that was forwarded, and to whom; ``child`` is None where it went to all children."""

    record: Record[Any, Any]
    child: str | None = None


@dataclass(slots=True)
class CapturedPunctuator:
    """A scheduled punctuation. Nothing calls it but the test."""

    interval_ms: int
    punctuation: PunctuationType
    punctuator: Punctuator
    start: int | None = None
    is_cancelled: bool = False

    def cancel(self) -> None:
        """What the processor calls to end it."""
        self.is_cancelled = True


class MockProcessorContext:
    """Stands in for a task while a processor is tested on its own.

    Stores must be built with logging and caching disabled; give them ``context.state_store_context`` in ``init``.
    Clocks stand where the test sets them; punctuations fire when the test calls them.

    >>> class Shout(Processor):
    ...     def process(self, record):
    ...         self.context.forward(record.with_value(record.value + "!"))
    >>> context, shout = MockProcessorContext(), Shout()
    >>> shout.init(context)
    >>> shout.process(Record("a", "x", timestamp=0))
    >>> [forward.record.value for forward in context.forwarded()]
    ['x!']
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        task_id: str = "0_0",
        state_dir: Path | None = None,
    ) -> None:
        self.config = StreamsConfig({"application.id": "mock-processor-context", **(config or {})})
        self.task_id = task_id
        self.metrics = StreamsMetrics(task_id, level=RecordingLevel.DEBUG).for_task(task_id)
        self.record_context: RecordContext | None = None
        self.record_metadata: RecordMetadata | None = None
        self.node_name = "mock"
        self.is_committed = False
        self._state_dir = state_dir
        self._system_time_ms: int | None = None
        self._stream_time_ms: int | None = None
        self._stores: dict[str, Any] = {}
        self._punctuators: list[CapturedPunctuator] = []
        self._forwards: list[CapturedForward] = []
        self._metadata: dict[str, int] = {}

    # What the test sets

    def set_record_metadata(self, topic: str, partition: int, offset: int) -> None:
        """Say where the record being processed came from."""
        self.record_metadata = RecordMetadata(topic, partition, offset)

    def set_current_system_time_ms(self, timestamp: int) -> None:
        """Set the wall clock."""
        self._system_time_ms = timestamp

    def set_current_stream_time_ms(self, timestamp: int) -> None:
        """Set stream time."""
        self._stream_time_ms = timestamp

    def add_state_store(self, store: Any) -> None:
        """Let the processor find a store."""
        self._stores[store.name] = store

    # What the test looks at

    def forwarded(self, child: str | None = None) -> list[CapturedForward]:
        """What was forwarded; with ``child`` only what that child would have received."""
        return [forward for forward in self._forwards if child is None or forward.child in (None, child)]

    def reset_forwards(self) -> None:
        """Forget what was forwarded."""
        self._forwards.clear()

    def scheduled_punctuators(self) -> list[CapturedPunctuator]:
        """What was scheduled, cancelled ones too."""
        return list(self._punctuators)

    def reset_commit(self) -> None:
        """Forget that a commit was asked for."""
        self.is_committed = False

    # What the processor uses

    def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
        """Capture the record."""
        self._forwards.append(CapturedForward(record, child))

    def schedule(
        self, interval: Duration, punctuation: PunctuationType, callback: Punctuator, start: int | None = None
    ) -> CapturedPunctuator:
        """Capture the punctuation."""
        check_clock(punctuation, user_line())
        check_function("schedule(): callback", callback, 1, user_line())
        captured = CapturedPunctuator(to_ms(interval, "interval"), punctuation, callback, start)
        self._punctuators.append(captured)
        return captured

    def commit(self) -> None:
        """Note that a commit was asked for."""
        self.is_committed = True

    def store(self, name: str) -> Any | None:
        """The store ``name``, if it was added."""
        return self._stores.get(name)

    def drop(self, reason: str) -> None:
        """Count a dropped record."""
        self.metrics.drop(reason)

    def internal_topic(self, suffix: str) -> str:
        """``<application id>-<suffix>``."""
        return f"{self.application_id}-{suffix}"

    def processor_metadata(self, key: str) -> int | None:
        """A number the processor kept."""
        return self._metadata.get(key)

    def set_processor_metadata(self, key: str, value: int) -> None:
        """Keep a number."""
        self._metadata[key] = value

    def app_configs(self) -> Mapping[str, Any]:
        """The configuration as given."""
        return dict(self.config.originals)

    def app_configs_with_prefix(self, prefix: str) -> Mapping[str, Any]:
        """The part of it that starts with ``prefix``, which is cut off."""
        return dict(self.config.with_prefix(prefix))

    @property
    def application_id(self) -> str:
        """``application.id``."""
        return self.config.application_id

    @property
    def key_serde(self) -> Serde[Any]:
        """The default key serde."""
        return self.config.default_key_serde

    @property
    def value_serde(self) -> Serde[Any]:
        """The default value serde."""
        return self.config.default_value_serde

    @property
    def state_dir(self) -> Path:
        """The directory given to the constructor, which a persistent store needs."""
        if self._state_dir is None:
            raise ArgumentError(
                "a store asked for the state directory but the mock context has none",
                hint="Use an in-memory store, or MockProcessorContext(state_dir=tmp_path).",
            )
        return self._state_dir

    @property
    def current_system_time_ms(self) -> int:
        """The wall clock, which the test must have set."""
        return _set_before_use(self._system_time_ms, "set_current_system_time_ms")

    @property
    def current_stream_time_ms(self) -> int:
        """Stream time, which the test must have set."""
        return _set_before_use(self._stream_time_ms, "set_current_stream_time_ms")

    @property
    def state_store_context(self) -> MockStoreContext:
        """What to give to a store's ``init``; the store is then known to the processor as well."""
        return MockStoreContext(self)


class MockStoreContext(CurrentRecord):
    """The store's side of the mock context."""

    def __init__(self, context: MockProcessorContext) -> None:
        self._context = context
        self.record_context: RecordContext | None = RecordContext(0, -1, -1, None)
        self.cache = ThreadCache(0)
        self.application_id = context.application_id
        self.task_id = context.task_id
        self.config = context.config
        self.metrics = context.metrics

    @property
    def state_dir(self) -> Path:
        """The directory of the mock context."""
        return self._context.state_dir

    def register(self, store: StateStore, restore: RestoreCallback | None) -> None:
        """Let the processor find the store."""
        self._context.add_state_store(store)

    def change_logger(self, store_name: str) -> ChangeLogger:
        """Refused."""
        raise UnsupportedError(
            "a mock context has no changelog",
            hint="Build the store with_logging_disabled(), or test with the TopologyTestDriver.",
        )

    def changelog_topic(self, store_name: str) -> str:
        """The name the changelog would have."""
        return f"{self.application_id}-{store_name}-changelog"

    def drop(self, reason: str) -> None:
        """Count a dropped record."""
        self._context.drop(reason)


def _set_before_use(time_ms: int | None, setter: str) -> int:
    if time_ms is None:
        message = f"the mock context does not know the time; call {setter}() first"
        raise IllegalStateError(message)
    return time_ms
