"""One store of one partition that follows its changelog: opened where it was left, brought up to date by the delta."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.clock import now_ms
from headrace.errors import in_short
from headrace.listeners import tell
from headrace.machine import boot_id
from headrace.private_directories import make_private
from headrace.query.context import ReplicaContext
from headrace.query.replica_files import ReplicaPosition, read_position, remove_position, write_position
from headrace.query.standby import StandbyEvent, StandbyListener, StandbyStep
from headrace.state.layers.caching import Caching
from headrace.state.snapshots import apply_store_snapshot, store_snapshot

if TYPE_CHECKING:
    from headrace.broker.port import Log, TopicDescription
    from headrace.config import StreamsConfig
    from headrace.query.layout import StoreLayout
    from headrace.task.state_registry import ChangelogEntry

log = logging.getLogger(__name__)

_DELETE_RETENTION_MS = 24 * 60 * 60 * 1000


class PartitionReplica:
    """A copy of one partition of a store. ``store`` is the typed store; only ``follow`` changes it."""

    def __init__(
        self,
        layout: StoreLayout,
        partition: int,
        config: StreamsConfig,
        directory: Path,
        listeners: list[StandbyListener],
    ) -> None:
        assert layout.topic is not None, "only stores with a changelog can be followed"
        self._layout = layout
        self._topic = layout.topic
        self._partition = partition
        self._config = config
        self._directory = directory
        self._task_id = f"{layout.subtopology}_{partition}"
        self._listeners = listeners
        self._topic_id = ""
        self._tombstones_last_ms = _DELETE_RETENTION_MS
        self._offset: int | None = None
        self._is_half_done = False
        self._is_new = True
        self._caught_up_ms = 0
        self._context: ReplicaContext | None = None
        self.store: Any = None

    def open(self, topic: TopicDescription | None) -> None:
        """Open the copy that is there, if it can be continued; ``topic`` is the changelog, None before it exists."""
        if topic is not None:
            self._topic_id = topic.id
            self._tombstones_last_ms = int(topic.config.get("delete.retention.ms", _DELETE_RETENTION_MS))
        found = read_position(self._directory) if self._layout.persistent else None
        if found is None or not self._fits(found):
            self._start_over()
            return
        try:
            self._open_store()
        except Exception as error:
            log.warning("the replica in %s cannot be opened and is built anew: %s", self._directory, in_short(error))
            self._start_over()
            return
        apply_store_snapshot(self.store, found.snapshot)
        self._offset, self._caught_up_ms = found.offset, found.caught_up_ms

    @property
    def offset(self) -> int:
        """The next offset that is to be applied; 0 before anything was."""
        return self._offset or 0

    def follow(self, broker: Log, start: int, end: int) -> int:
        """Apply what there is between here and ``end``, a partition that begins at ``start``; how many records."""
        if self._is_half_done or (self._offset is not None and self._cannot_go_on(start, end)):
            self._start_over()
        if self._offset == end:
            self._caught_up_ms = now_ms()
            return 0
        self._is_half_done = True
        remove_position(self._directory)
        assert self._context is not None
        if self._offset is None or self._is_new:
            self._is_new = False
            self._tell(StandbyStep.START, end)
        entries = self._entries(broker, start if self._offset is None else self._offset, end)
        count = self._context.registry.restore(self._layout.name, entries)
        self.store.flush()
        self._is_half_done = False
        self._offset, self._caught_up_ms = end, now_ms()
        self._write_position()
        self._tell(StandbyStep.BATCH, end, count)
        return count

    def close(self) -> None:
        """Close the store and note when it was last up to date."""
        if self.store is not None and self.store.is_open:
            self._write_position()
            self.store.close()
            self._tell(StandbyStep.SUSPENDED, self.offset)

    def _tell(self, step: StandbyStep, end: int, loaded: int = 0) -> None:
        place = (self._layout.name, self._topic, self._partition, self._task_id)
        tell("standby", self._listeners, StandbyEvent(step, *place, self.offset, end, loaded))

    def _cannot_go_on(self, start: int, end: int) -> bool:
        """Whether records are missing for good: removed by retention or compaction, or of a topic that was replaced."""
        assert self._offset is not None
        is_stale = self._offset < end and now_ms() - self._caught_up_ms >= self._tombstones_last_ms
        return not start <= self._offset <= end or is_stale

    def _fits(self, found: ReplicaPosition) -> bool:
        here = (self._topic, self._partition, self._topic_id, str(self._layout.kind))
        return (found.topic, found.partition, found.topic_id, found.store_kind) == here

    def _start_over(self) -> None:
        if self.store is not None:
            self.store.close()
        shutil.rmtree(self._directory, ignore_errors=True)
        self._offset, self._is_half_done = None, False
        self._open_store()

    def _open_store(self) -> None:
        make_private(self._directory)
        self._context = ReplicaContext(self._config, self._task_id, self._topic, self._directory)
        self.store = _uncached(self._layout.builder.build())
        self.store.init(self._context)

    def _entries(self, broker: Log, start: int, end: int) -> Iterator[ChangelogEntry]:
        # Before the application's first batch there may be no topic to read.
        for records in broker.read(self._topic, self._partition, start, end) if start < end else ():
            for _, _, _, timestamp, key, value, headers in records:
                # A source topic may hold records without a key; no table takes them.
                if key is not None:
                    yield key, value, timestamp, headers

    def _write_position(self) -> None:
        if self._layout.persistent and self._offset is not None and not self._is_half_done:
            position = ReplicaPosition(
                self._topic,
                self._partition,
                self._offset,
                self._topic_id,
                str(self._layout.kind),
                self._caught_up_ms,
                boot_id(),
                store_snapshot(self.store),
            )
            write_position(self._directory, position)


def _uncached(store: Any) -> Any:
    """The store without its cache, which would not see what is applied beneath it."""
    if isinstance(getattr(store, "inner", None), Caching):
        store.inner = store.inner.inner
    return store
