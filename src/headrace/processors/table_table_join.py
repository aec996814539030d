"""Joins of two tables by their keys: a change of either side is joined with the other side's row.

Four kinds of sides follow from two questions: must this side have a row, must the other one?

    ====================  =============  ==============
    side                  requires_this  requires_other
    ====================  =============  ==============
    inner, both sides     yes            yes
    left, left side       yes            no
    left, right side      no             yes
    outer, both sides     no             no
    ====================  =============  ==============
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from headrace.errors import UnsupportedError
from headrace.processors.api import NodeContext, Processor
from headrace.processors.materialized import TableSupplier, ValueGetterSupplier, rows_in_store
from headrace.processors.storing import StoringProcessor
from headrace.records import Change, Record, ValueAndTimestamp

Joiner = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True)
class ReversedJoiner:
    """The user's joiner as seen from the right side."""

    joiner: Joiner

    def __call__(self, right: Any, left: Any) -> Any:
        return self.joiner(left, right)


@dataclass
class TableJoinSide:
    """Supplies the processor of one side. ``joiner`` takes this side's value first."""

    this: TableSupplier
    other: TableSupplier
    joiner: Joiner
    requires_this: bool
    requires_other: bool
    use_versioned_semantics: bool = field(default=False, init=False)
    send_old_values: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        # Asking for the views is what makes source tables keep their rows, so it happens when the join is written.
        self.this_view: ValueGetterSupplier = self.this.view()
        self.other_view: ValueGetterSupplier = self.other.view()

    def __call__(self) -> Processor:
        return TableJoinProcessor(self)

    def view(self) -> ValueGetterSupplier:
        names = dict.fromkeys((*self.this_view.store_names, *self.other_view.store_names))
        return ValueGetterSupplier(tuple(names), partial(JoinedValueGetter, self))

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        """Let changes carry old values; both tables then have to."""
        self.this.enable_sending_old_values(True)
        self.other.enable_sending_old_values(True)
        self.send_old_values = True
        return True


class TableJoinProcessor(Processor):
    """Joins each change of this side with the other side's row. A result without a value is a deletion."""

    def __init__(self, side: TableJoinSide) -> None:
        self._other = side.other_view.get()
        self._joiner = side.joiner
        self._requires_this, self._requires_other = side.requires_this, side.requires_other
        self._only_latest = side.use_versioned_semantics
        self._send_old_values = side.send_old_values

    def init(self, context: NodeContext) -> None:
        self._other.init(context, as_flushed=True)
        self._lookup = self._other.get
        self._forward = context.forward
        self._drop = context.drop

    def process(self, record: Record[Any, Change]) -> None:
        change = record.value
        new, old, is_latest = change.new, change.old, change.is_latest
        if record.key is None:
            self._drop("null key")
            return
        if self._only_latest and not is_latest:
            self._drop("out-of-order row of a versioned table")
            return
        row = self._lookup(record.key)
        timestamp = record.timestamp
        if row is None:
            if self._requires_other or (new is None and old is None):
                return
            other = None
        else:
            other = row.value
            timestamp = max(timestamp, row.timestamp)
        joins_alone = other is not None and not self._requires_this
        joined = self._joiner(new, other) if new is not None or joins_alone else None
        joined_before = None
        if self._send_old_values and (old is not None or joins_alone):
            joined_before = self._joiner(old, other)
        self._forward(Record(record.key, Change(joined, joined_before, is_latest), timestamp, record.headers))

    def close(self) -> None:
        self._other.close()


class JoinedValueGetter:
    """Looks up both rows and joins them."""

    def __init__(self, side: TableJoinSide) -> None:
        self._this, self._other = side.this_view.get(), side.other_view.get()
        self._joiner = side.joiner
        self._requires_this, self._requires_other = side.requires_this, side.requires_other

    def init(self, context: NodeContext, *, as_flushed: bool = False) -> None:
        self._this.init(context, as_flushed=as_flushed)
        self._other.init(context, as_flushed=as_flushed)

    def get(self, key: Any) -> ValueAndTimestamp | None:
        this = self._this.get(key)
        if this is None and self._requires_this:
            return None
        other = self._other.get(key)
        if other is None and (self._requires_other or this is None):
            return None
        value = self._joiner(None if this is None else this.value, None if other is None else other.value)
        return ValueAndTimestamp.make(value, max(row.timestamp for row in (this, other) if row is not None))

    def get_as_of(self, key: Any, timestamp: int) -> ValueAndTimestamp | None:
        """Refused: a join has no versions to choose from."""
        raise UnsupportedError("a join that is not kept in a versioned store cannot be looked up as of a time")

    @property
    def is_versioned(self) -> bool:
        """Never: a join of versioned tables is not versioned itself (KIP-914)."""
        return False

    def close(self) -> None:
        self._this.close()
        self._other.close()


@dataclass
class TableJoinMerge:
    """Supplies the processor where both sides meet; the result is kept where ``store`` is given."""

    this: TableJoinSide
    other: TableJoinSide
    store: Any | None
    """The builder of the store, or None."""
    send_old_values: bool = field(default=False, init=False)

    def __call__(self) -> Processor:
        if self.store is None:
            return PassingTableJoinMerge(send_old_values=self.send_old_values)
        return StoringTableJoinMerge(self.store.name, send_old_values=self.send_old_values)

    @property
    def stores(self) -> tuple[Any, ...]:
        return () if self.store is None else (self.store,)

    def view(self) -> ValueGetterSupplier:
        return self.this.view() if self.store is None else rows_in_store(self.store.name)

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        """Let changes carry old values; both sides then have to."""
        self.this.enable_sending_old_values(True)
        self.other.enable_sending_old_values(True)
        self.send_old_values = True
        return True


class PassingTableJoinMerge(Processor):
    """Passes the results of both sides on."""

    def __init__(self, *, send_old_values: bool) -> None:
        self._send_old_values = send_old_values

    def init(self, context: NodeContext) -> None:
        self._forward = context.forward

    def process(self, record: Record[Any, Change]) -> None:
        """Pass one change on; without its old value if nobody asked for it."""
        if not self._send_old_values and record.value.old is not None:
            record = record.with_value(Change(record.value.new, None, record.value.is_latest))
        self._forward(record)


class StoringTableJoinMerge(StoringProcessor):
    """Keeps the results of both sides and passes them on."""

    def process(self, record: Record[Any, Change]) -> None:
        self._keep(record, record.value.new, record.value.old)
