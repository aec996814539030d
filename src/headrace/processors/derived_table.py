"""Tables computed row by row from another table: what filter, map_values and transform_values share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from headrace.processors.api import NodeContext
from headrace.processors.materialized import (
    StoreValueGetterSupplier,
    TableSupplier,
    ValueGetter,
    ValueGetterSupplier,
)
from headrace.records import ValueAndTimestamp


@dataclass
class DerivedTable(ABC):
    """The supplier of a table that is computed from ``parent``, and kept only where ``store`` is given.

    A table that is not kept is looked up by computing the row of its parent again.
    """

    parent: TableSupplier
    store: Any | None
    """The builder of the store, or None."""
    send_old_values: bool = field(default=False, init=False)

    @property
    def stores(self) -> tuple[Any, ...]:
        """The table's store, if it has one."""
        return () if self.store is None else (self.store,)

    def view(self) -> ValueGetterSupplier:
        """How others look the table up."""
        if self.store is not None:
            return StoreValueGetterSupplier(self.store.name)
        return DerivedValueGetterSupplier(self.parent.view(), self)

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        """Let changes carry old values, from the own store or from the parent."""
        if self.store is not None or self.parent.enable_sending_old_values(force_materialization):
            self.send_old_values = True
        return self.send_old_values

    @abstractmethod
    def getter(self, parent: ValueGetter) -> ValueGetter:
        """A getter that computes rows of this table from those of the parent."""


@dataclass(frozen=True, slots=True)
class DerivedValueGetterSupplier:
    """The value getters of a table that is not kept in a store."""

    parent: ValueGetterSupplier
    table: DerivedTable

    @property
    def store_names(self) -> tuple[str, ...]:
        """The stores of the parent."""
        return self.parent.store_names

    def get(self) -> ValueGetter:
        """A new getter."""
        return self.table.getter(self.parent.get())


class DerivedValueGetter(ABC):
    """Looks up the parent's row and computes this table's from it."""

    def __init__(self, parent: ValueGetter) -> None:
        self._parent = parent

    def init(self, context: NodeContext, *, as_flushed: bool = False) -> None:
        """Start the parent's getter."""
        self._parent.init(context, as_flushed=as_flushed)

    def get(self, key: Any) -> ValueAndTimestamp | None:
        """The latest row."""
        return self.compute(key, self._parent.get(key))

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        """The row as of ``timestamp``."""
        return self.compute(key, self._parent.get_as_of(key, timestamp))

    @property
    def is_versioned(self) -> bool:
        """Whether the parent keeps versions."""
        return self._parent.is_versioned

    def close(self) -> None:
        """Close the parent's getter."""
        self._parent.close()

    @abstractmethod
    def compute(self, key: Any, row: ValueAndTimestamp | None) -> ValueAndTimestamp | None:
        """The row of this table, from the parent's."""
