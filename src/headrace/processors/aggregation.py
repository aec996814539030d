"""What the suppliers of all stream aggregations share: the store they bring along and old values on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import UnsupportedError
from headrace.processors.api import NodeContext
from headrace.processors.materialized import ValueGetterSupplier, as_flushed_store, rows_in_store
from headrace.records import ValueAndTimestamp

Initializer = Callable[[], Any]
Aggregator = Callable[[Any, Any, Any], Any]
"""``(key, value, aggregate)``"""
Merger = Callable[[Any, Any, Any], Any]
"""``(key, left, right)``"""
Reducer = Callable[[Any, Any], Any]
"""``(aggregate, value)``"""


@dataclass
class Aggregation:
    """The supplier of an aggregation's processor. Its table always has a store, so it can always send old values."""

    store: Any
    """The store's builder."""
    send_old_values: bool = field(default=False, init=False)

    @property
    def store_name(self) -> str:
        return str(self.store.name)

    @property
    def stores(self) -> tuple[Any, ...]:
        return (self.store,)

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        self.send_old_values = True
        return True

    def view(self) -> ValueGetterSupplier:
        return rows_in_store(self.store_name)


class WindowedAggregation(Aggregation):
    def view(self) -> ValueGetterSupplier:
        return rows_in_store(self.store_name, WindowValueGetter)


class UnversionedValueGetter:
    """What the getters of windows and of sessions share: their stores keep no versions."""

    is_versioned = False

    def __init__(self, store_name: str) -> None:
        self._store_name = store_name

    def init(self, context: NodeContext, *, as_flushed: bool = False) -> None:
        store = context.store(self._store_name)
        self._store = as_flushed_store(store) if as_flushed else store

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        message = f"store {self._store_name!r} keeps no versions of its rows"
        raise UnsupportedError(message)

    def close(self) -> None: ...


class WindowValueGetter(UnversionedValueGetter):
    def get(self, key: Any) -> ValueAndTimestamp | None:
        return self._store.fetch(key.key, key.window.start)  # type: ignore[no-any-return]


def count_initializer() -> int:
    return 0


def count_aggregator(key: Any, value: Any, aggregate: int) -> int:
    return aggregate + 1


def count_merger(key: Any, left: int, right: int) -> int:
    return left + right


def no_initial_value() -> None: ...


@dataclass(frozen=True, slots=True)
class ReducingAggregator:
    """A reducer in the place of an aggregator."""

    reducer: Reducer

    def __call__(self, key: Any, value: Any, aggregate: Any) -> Any:
        return value if aggregate is None else self.reducer(aggregate, value)


@dataclass(frozen=True, slots=True)
class ReducingMerger:
    """A reducer in the place of a session merger."""

    reducer: Reducer

    def __call__(self, key: Any, left: Any, right: Any) -> Any:
        return right if left is None else self.reducer(left, right)
