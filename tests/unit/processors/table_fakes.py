"""A context and stores for table operators under test: no task, no bytes."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from headrace import serde
from headrace.processors.materialized import ValueGetterSupplier, rows_in_store
from headrace.records import Change, Record, RecordContext, ValueAndTimestamp, VersionedRecord
from headrace.state.contracts import IS_LATEST, NOT_PUT, StoreIterator


class FakeStore:
    """A timestamped key-value store in a dict; prefixes are those of its keys' bytes."""

    def __init__(self) -> None:
        self.rows: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        return self.rows.get(key)

    def put(self, key: Any, value: Any) -> None:
        if value is None:
            self.rows.pop(key, None)
        else:
            self.rows[key] = value

    def delete(self, key: Any) -> Any:
        return self.rows.pop(key, None)

    def prefix_scan(self, prefix: Any, prefix_serde: Any) -> StoreIterator[Any, Any]:
        return StoreIterator([entry for entry in sorted(self.rows.items()) if entry[0].startswith(prefix)])

    def set_flush_listener(self, listener: Callable[..., None], send_old_values: bool) -> bool:
        return False


class FakeVersionedStore(FakeStore):
    """A versioned store that keeps the latest version, and refuses those before ``oldest``."""

    is_versioned = True

    def __init__(self, oldest: int = 0) -> None:
        super().__init__()
        self.oldest = oldest

    def get(self, key: Any, as_of: int | None = None) -> Any:
        return self.rows.get(key)

    def put(self, key: Any, value: Any, timestamp: int) -> int:  # type: ignore[override]
        held = self.rows.get(key)
        if timestamp < self.oldest:
            return NOT_PUT
        if held is not None and held.timestamp > timestamp:
            return int(held.timestamp)
        self.rows[key] = VersionedRecord(value, timestamp)
        return IS_LATEST


class FakeContext:
    """Collects what is forwarded and dropped."""

    def __init__(self, **stores: Any) -> None:
        self.stores = stores
        self.forwarded: list[Record[Any, Any]] = []
        self.dropped: list[str] = []
        self.record_context: RecordContext | None = RecordContext(0, 7, 3, "in")
        self.node_name = "node"
        self.metrics = SimpleNamespace(node_sensor=lambda node, operation: None)
        self.config = SimpleNamespace(
            application_id="app", default_key_serde=serde.string(), default_value_serde=serde.string()
        )

    def forward(self, record: Record[Any, Any]) -> None:
        self.forwarded.append(record)

    def drop(self, reason: str) -> None:
        self.dropped.append(reason)

    def store(self, name: str) -> Any:
        return self.stores[name]

    def internal_topic(self, suffix: str) -> str:
        return f"app-{suffix}"

    @property
    def changes(self) -> list[tuple[Any, Any, Any, int]]:
        """What was forwarded, as ``(key, new, old, timestamp)``."""
        return [(record.key, record.value.new, record.value.old, record.timestamp) for record in self.forwarded]


class FakeTable:
    """The supplier of a parent table whose store is ``store_name``; without one it has no old values to send."""

    def __init__(self, store_name: str | None = None) -> None:
        self.store_name = store_name
        self.sends_old_values = False

    def __call__(self) -> Any:
        return None

    def view(self) -> ValueGetterSupplier:
        assert self.store_name is not None
        return rows_in_store(self.store_name)

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        self.sends_old_values = force_materialization or self.store_name is not None
        return self.sends_old_values


def store_named(name: str) -> Any:
    """Stands for the builder of a store."""
    return SimpleNamespace(name=name)


def change(key: Any, new: Any, old: Any = None, timestamp: int = 0, *, latest: bool = True) -> Record[Any, Change]:
    """A record with a change."""
    return Record(key, Change(new, old, latest), timestamp)


def row(value: Any, timestamp: int = 0) -> ValueAndTimestamp:
    """A row of a table."""
    return ValueAndTimestamp(value, timestamp)


def started(supplier: Any, context: Any) -> Any:
    """A processor of ``supplier`` that was given ``context``."""
    processor = supplier()
    processor.init(context)
    return processor
