"""What processors and stores see of their task.

One ``TaskContext`` is shared by everything in a task; each node has a ``RuntimeNodeContext`` of its own, which knows
the node's children and stores.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from headrace.durations import Duration, to_ms
from headrace.errors import ArgumentError, IllegalStateError, StreamsError, UnsupportedError, user_line
from headrace.functions import check_function
from headrace.guesses import Face
from headrace.metrics import StreamsMetrics
from headrace.near_names import did_you_mean
from headrace.private_directories import make_private
from headrace.processors.api import Cancellable, PunctuationType, Punctuator, check_clock
from headrace.records import (
    NO_HEADERS,
    NO_TIMESTAMP,
    Headers,
    RawRecord,
    Record,
    RecordContext,
    RecordMetadata,
)
from headrace.state.cache import ThreadCache
from headrace.state.contracts import ChangeLogger, RestoreCallback, StateStore
from headrace.task.failures import ONE_RECORD
from headrace.task.state_registry import StateRegistry

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.serde import Serde
    from headrace.state.rocksdb.task_databases import TaskDatabases
    from headrace.task.collector import RecordCollector
    from headrace.topology.task_plan import TaskPlan

log = logging.getLogger(__name__)

Process: TypeAlias = Callable[[Record[Any, Any]], None]
Take: TypeAlias = Callable[[Any, Any, int, Headers], None]
"""What takes a record in parts: ``(key, value, timestamp, headers)``."""


class Host(Protocol):
    """What a node may ask of its task beyond stores and forwarding."""

    @property
    def stream_time(self) -> int: ...

    def schedule(
        self, node: str, interval_ms: int, punctuation: PunctuationType, callback: Punctuator, start: int | None
    ) -> Cancellable: ...


class TaskContext:
    """The context stores are given, and the state that all node contexts of a task share."""

    __slots__ = (
        "_changelogs",
        "_state_dir",
        "application_id",
        "cache",
        "collector",
        "config",
        "databases",
        "global_stores",
        "headers",
        "host",
        "is_active",
        "metrics",
        "origin",
        "partition",
        "prefix",
        "processor_metadata",
        "registry",
        "system_time_ms",
        "task_id",
        "timestamp",
    )

    timestamp: int
    headers: Headers
    origin: RawRecord | None
    """Where the current record comes from; None where there is no record."""
    collector: RecordCollector
    host: Host

    def __init__(
        self,
        task_id: str,
        plan: TaskPlan,
        config: StreamsConfig,
        *,
        clock: Callable[[], int],
        state_dir: Path | Callable[[], Path],
        cache: ThreadCache | None = None,
        metrics: StreamsMetrics | None = None,
        global_stores: Mapping[str, Any] | None = None,
        partition: int = 0,
    ) -> None:
        """A host that shares no cache and no metrics between tasks gets new ones."""
        self.task_id = task_id
        self.config = config
        self.application_id = config.application_id
        self.metrics = (metrics or StreamsMetrics.of(config, config.application_id, clock)).for_task(task_id)
        self.cache = cache if cache is not None else ThreadCache(max(0, config["statestore.cache.max.bytes"]))
        self.registry = StateRegistry()
        self.prefix = plan.prefix
        self.partition = partition
        self.global_stores = global_stores or {}
        self.record_context = None
        self.system_time_ms = NO_TIMESTAMP
        self.is_active = False
        self.processor_metadata: dict[str, int] = {}
        self.databases: TaskDatabases | None = None
        """Where stores keep their entries in a task whose state has versions."""
        self._changelogs = plan.store_to_changelog
        self._state_dir = state_dir

    @property
    def record_context(self) -> RecordContext | None:
        """The record being processed. It is put together when someone asks: most records pass without."""
        if self.origin is None:
            return None
        topic, partition, offset, _, raw_key, raw_value, _ = self.origin
        return RecordContext(self.timestamp, offset, partition, topic, self.headers, raw_key, raw_value)

    @record_context.setter
    def record_context(self, context: RecordContext | None) -> None:
        if context is None:
            self.timestamp, self.headers, self.origin = NO_TIMESTAMP, NO_HEADERS, None
            return
        timestamp, offset, partition, topic, headers, raw_key, raw_value = context
        self.timestamp, self.headers = timestamp, headers
        # While nodes are made and punctuations run there is no topic.
        self.origin = (topic, partition, offset, timestamp, raw_key, raw_value, headers)  # type: ignore[assignment]

    def record_place(self) -> tuple[int, int, int]:
        """Time, partition and offset of the record being processed, for who asks with every one."""
        _, partition, offset, _, _, _, _ = self.origin  # type: ignore[misc]  # there is one while one is processed
        return self.timestamp, partition, offset

    @property
    def state_path(self) -> Path:
        if not isinstance(self._state_dir, Path):
            self._state_dir = self._state_dir()
        return self._state_dir

    @property
    def state_dir(self) -> Path:
        """The directory of this task, made when somebody first asks for it."""
        path = self.state_path
        make_private(path)
        return path

    def register(self, store: StateStore, restore: RestoreCallback | None) -> None:
        """Make the store known to the task: it will be flushed, restored and closed with it."""
        self.registry.register(store, restore)

    def change_logger(self, store_name: str) -> ChangeLogger:
        return partial(self.collector.send_change, self._changelogs[store_name], self.partition)

    def changelog_topic(self, store_name: str) -> str:
        """The store's changelog; for a store without one the name it would have."""
        return self._changelogs.get(store_name) or f"{self.prefix}-{store_name}-changelog"

    def drop(self, reason: str, node: str | None = None, record: RawRecord | None = None) -> None:
        """Count a dropped record; the first of each reason is logged as a warning, later ones for debugging only.

        ``record`` is given where it is not the one being processed: a record is read before its turn comes.
        """
        level = logging.WARNING if self.metrics.drop(reason) == 1 else logging.DEBUG
        if log.isEnabledFor(level):
            origin = record or self.origin
            place = "no record" if origin is None else "{}-{}@{}".format(*origin)
            at = "" if node is None else f" at node {node}"
            log.log(level, "task %s dropped a record%s (%s): %s", self.task_id, at, place, reason)

    @contextmanager
    def active(self, context: RecordContext | None, now_ms: int) -> Iterator[None]:
        """While nodes are initialised, punctuated or closed, and caches flushed: forwarding is allowed."""
        was_active, self.is_active = self.is_active, True
        self.record_context = context
        self.system_time_ms = now_ms
        try:
            yield
        finally:
            self.is_active = was_active


class RuntimeNodeContext(Face):
    """The context of one node."""

    __slots__ = ("_by_name", "_children", "_stores", "_takes", "_task", "node_name")

    def __init__(self, task: TaskContext, node_name: str, stores: tuple[str, ...]) -> None:
        self._task = task
        self._stores = frozenset(stores)
        self._children: tuple[Process, ...] = (self._too_early,)
        self._takes: tuple[Take, ...] = (self._too_early,)
        self._by_name: dict[str, Process] = {}
        self.node_name = node_name

    def attach(self, children: list[tuple[str, Process, Take]]) -> None:
        """Learn whom to forward to, in order: each by name, by what takes a record, and by what takes its parts."""
        self._children = tuple(process for _, process, _ in children)
        self._takes = tuple(take for _, _, take in children)
        self._by_name = {name: process for name, process, _ in children}

    def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
        """Hand ``record`` to all children, in the order they were attached, or to the one called ``child``."""
        task = self._task
        if not task.is_active:
            raise self._out_of_scope()
        targets = self._children if child is None else (self._child(child, record),)
        timestamp, headers = task.timestamp, task.headers
        if task.origin is None or (record.timestamp == timestamp and record.headers is headers):
            for process in targets:
                process(record)
            return
        task.timestamp, task.headers = record.timestamp, record.headers
        try:
            for process in targets:
                process(record)
        finally:
            task.timestamp, task.headers = timestamp, headers

    def forward_parts(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        """``forward`` to all children without making a ``Record`` first; some children can do without one."""
        task = self._task
        if not task.is_active:
            raise self._out_of_scope()
        held_timestamp, held_headers = task.timestamp, task.headers
        if task.origin is None or (timestamp == held_timestamp and headers is held_headers):
            for take in self._takes:
                take(key, value, timestamp, headers)
            return
        task.timestamp, task.headers = timestamp, headers
        try:
            for take in self._takes:
                take(key, value, timestamp, headers)
        finally:
            task.timestamp, task.headers = held_timestamp, held_headers

    def store(self, name: str) -> Any:
        """The state store ``name``, which must be connected to this processor (or be a global store)."""
        shared = self._task.global_stores.get(name)
        if shared is not None:
            return ReadOnlyGlobalStore(shared)
        if name not in self._stores:
            message = f"the processor {self.node_name} has no access to the store {name!r}: they are not connected"
            raise StreamsError(
                message,
                detail=f"its stores are: {', '.join(sorted(self._stores)) or 'none'}",
                hint=did_you_mean(name, self._stores)
                or "Connect them: add_state_store(builder, processors=...), connect_processor_and_state_stores(...), "
                "stores=[...] in process(), process_values() or transform_values(), or stores on the supplier itself.",
            )
        return self._task.registry.store(name)

    def schedule(
        self, interval: Duration, punctuation: PunctuationType, callback: Punctuator, start: int | None = None
    ) -> Cancellable:
        """Call ``callback`` every ``interval`` of the given clock; ``start`` anchors the grid (KIP-1146)."""
        interval_ms = to_ms(interval, "interval")
        if interval_ms < 1:
            raise ArgumentError("the interval of a punctuation must be at least 1 millisecond")
        if start is not None and start < 0:
            raise ArgumentError("the start of a punctuation cannot lie before 1970")
        check_clock(punctuation, user_line())
        check_function("schedule(): callback", callback, 1, user_line())
        if not self._task.is_active:
            message = f"schedule() of {self.node_name} was called from outside its task"
            raise IllegalStateError(message)
        return self._task.host.schedule(self.node_name, interval_ms, punctuation, callback, start)

    def commit(self) -> None:
        """Nothing is left to do: every batch commits at its end."""

    def drop(self, reason: str) -> None:
        self._task.drop(reason, self.node_name)

    def internal_topic(self, suffix: str) -> str:
        """``<application id or topic prefix>-<suffix>``."""
        return f"{self._task.prefix}-{suffix}"

    def processor_metadata(self, key: str) -> int | None:
        """A number that travels with the committed offsets."""
        return self._task.processor_metadata.get(key)

    def set_processor_metadata(self, key: str, value: int) -> None:
        """Keep a number with the next committed offsets."""
        self._task.processor_metadata[key] = value

    def app_configs(self) -> Mapping[str, Any]:
        return dict(self._task.config.originals)

    def app_configs_with_prefix(self, prefix: str) -> Mapping[str, Any]:
        """The part of it that starts with ``prefix``, which is cut off."""
        return dict(self._task.config.with_prefix(prefix))

    @property
    def record_context(self) -> RecordContext | None:
        """The current record's origin, time and headers."""
        return self._task.record_context

    @record_context.setter
    def record_context(self, context: RecordContext | None) -> None:
        self._task.record_context = context

    @property
    def record_place(self) -> Callable[[], tuple[int, int, int]]:
        """What tells time, partition and offset of the current record, without putting its whole context together."""
        return self._task.record_place

    @property
    def record_metadata(self) -> RecordMetadata | None:
        """Topic, partition and offset of the current record; None, -1 and -1 while punctuating."""
        context = self._task.record_context
        return None if context is None else RecordMetadata(context.topic, context.partition, context.offset)

    @property
    def application_id(self) -> str:
        return self._task.application_id

    @property
    def task_id(self) -> str:
        return self._task.task_id

    @property
    def config(self) -> StreamsConfig:
        return self._task.config

    @property
    def key_serde(self) -> Serde[Any]:
        return self._task.config.default_key_serde

    @property
    def value_serde(self) -> Serde[Any]:
        return self._task.config.default_value_serde

    @property
    def state_dir(self) -> Path:
        return self._task.state_dir

    @property
    def metrics(self) -> StreamsMetrics:
        return self._task.metrics

    @property
    def current_system_time_ms(self) -> int:
        """The wall clock as of the current record or punctuation."""
        return self._task.system_time_ms

    @property
    def current_stream_time_ms(self) -> int:
        """The highest timestamp the task has seen; -1 before the first record."""
        return self._task.host.stream_time

    def _child(self, name: Any, record: Any) -> Process:
        if not isinstance(record, Record):
            message = f"forward() of {self.node_name} got {record!r} and {name!r} instead of a record"
            raise StreamsError(message, hint=ONE_RECORD)
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            message = f"{self.node_name} has no child called {name!r} to forward to"
            children = ", ".join(self._by_name) or "none"
            hint = did_you_mean(name, self._by_name) or "Without a name forward() hands the record to all children."
            raise StreamsError(message, detail=f"its children are: {children}", hint=hint) from None

    def _too_early(self, *_: Any) -> None:
        message = f"{self.node_name} forwarded a record before all nodes were initialised"
        raise IllegalStateError(message, hint="Do not forward in init(); schedule a punctuation there instead.")

    def _out_of_scope(self) -> StreamsError:
        return StreamsError(
            f"forward() of {self.node_name} was called from outside its task",
            hint="Call it inside process() or a punctuation; is one processor object shared by several nodes or tasks?",
        )


class GlobalNodeContext(RuntimeNodeContext):
    """The context of a node that fills a global store."""

    __slots__ = ()

    def store(self, name: str) -> Any:
        """The global store ``name``, to read and write; None where there is none."""
        return self._task.registry.find(name)

    def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
        if child is not None:
            raise UnsupportedError("a global processor cannot choose whom to forward to")
        RuntimeNodeContext.forward(self, record)

    @property
    def current_stream_time_ms(self) -> int:
        raise UnsupportedError("a global processor has no stream time")


_WRITES = frozenset(
    {"put", "put_if_absent", "put_all", "delete", "remove", "flush", "init", "close", "set_flush_listener"}
)


class ReadOnlyGlobalStore:
    """A global store as the processors of a task see it: what it can be asked, without what changes it."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        if name in _WRITES:
            return self._refuse
        found = getattr(self._store, name)
        if callable(found):
            setattr(self, name, found)
        return found

    def _refuse(self, *_: Any, **__: Any) -> Any:
        message = f"the global store {self._store.name!r} is read-only here"
        raise UnsupportedError(message, hint="Only the processor of the global store itself may write to it.")
