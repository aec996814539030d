"""Sends the rows of a table to the groups they belong to, before and after a change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.errors import StreamsError
from headrace.processors.api import NodeContext, Processor
from headrace.processors.results import as_pair
from headrace.records import Change, Record


@dataclass
class TableGroupBy:
    """Supplies the processor that maps rows to ``(group key, value)`` (Java: KTableRepartitionMap).

    A row that leaves a group is sent there as an old value, a row that joins one as a new value.
    """

    mapper: Callable[[Any, Any], tuple[Any, Any] | None]
    use_versioned_semantics: bool = field(default=False, init=False)

    def __call__(self) -> Processor:
        return TableGroupByProcessor(self.mapper, use_versioned_semantics=self.use_versioned_semantics)


class TableGroupByProcessor(Processor):
    """Maps the old and the new value. A pair without key or without value takes no part in any group."""

    def __init__(self, mapper: Callable[[Any, Any], tuple[Any, Any] | None], *, use_versioned_semantics: bool) -> None:
        self._mapper = mapper
        self._only_latest = use_versioned_semantics

    def init(self, context: NodeContext) -> None:
        self._forward = context.forward

    def process(self, record: Record[Any, Change]) -> None:
        """Send the change to the group, or the two halves to the two groups: first the leaving one."""
        if record.key is None:
            raise StreamsError("a table that is grouped must not have rows without a key")
        change = record.value
        new, old, is_latest = change.new, change.old, change.is_latest
        if self._only_latest and not is_latest:
            return
        joining = self._pair(record.key, new)
        leaving = self._pair(record.key, old)
        if joining and leaving and joining[0] == leaving[0]:
            self._send(record, joining[0], Change(joining[1], leaving[1], is_latest))
            return
        if leaving:
            self._send(record, leaving[0], Change(None, leaving[1], is_latest))
        if joining:
            self._send(record, joining[0], Change(joining[1], None, is_latest))

    def _pair(self, key: Any, value: Any) -> tuple[Any, Any] | None:
        found = None if value is None else self._mapper(key, value)
        if found is None:
            return None
        pair = as_pair(found, "group_by", self._mapper)
        return None if pair[0] is None or pair[1] is None else pair

    def _send(self, record: Record[Any, Change], key: Any, change: Change) -> None:
        self._forward(Record(key, change, record.timestamp, record.headers))
