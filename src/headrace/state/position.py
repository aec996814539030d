"""How far a store has come: the offsets of the input topics it reflects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.records import RecordContext


class Position:
    """The last offset seen per topic and partition.

    >>> Position().with_component("in", 0, 7).offset("in", 0)
    7
    """

    __slots__ = ("_offsets",)

    remembered = ("_offsets",)

    def __init__(self, offsets: Mapping[str, Mapping[int, int]] | None = None) -> None:
        self._offsets: dict[str, dict[int, int]] = {topic: dict(parts) for topic, parts in (offsets or {}).items()}

    @property
    def topics(self) -> frozenset[str]:
        """The topics of which something was seen."""
        return frozenset(self._offsets)

    def partitions(self, topic: str) -> dict[int, int]:
        """The last offset of each partition of ``topic``."""
        return dict(self._offsets.get(topic, {}))

    def offset(self, topic: str, partition: int) -> int | None:
        """The last offset seen of that partition."""
        return self._offsets.get(topic, {}).get(partition)

    def with_component(self, topic: str, partition: int, offset: int) -> Position:
        """Take note of an offset; positions never go back. Returns itself."""
        partitions = self._offsets.setdefault(topic, {})
        partitions[partition] = max(offset, partitions.get(partition, offset))
        return self

    def merge(self, other: Position | None) -> Position:
        """Take note of everything ``other`` has seen. Returns itself."""
        if other is not None:
            for topic, partitions in other._offsets.items():
                for partition, offset in partitions.items():
                    self.with_component(topic, partition, offset)
        return self

    def observe(self, record_context: RecordContext | None) -> None:
        """Take note of the record being processed; one that comes from no topic leaves no trace."""
        if record_context is not None and record_context.topic is not None:
            self.with_component(record_context.topic, record_context.partition, record_context.offset)

    def copy(self) -> Position:
        """Another position with the same offsets."""
        return Position(self._offsets)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Position) and self._offsets == other._offsets

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Position({self._offsets!r})"


@dataclass(frozen=True, slots=True)
class PositionBound:
    """How far a store must have come before it may answer a query."""

    position: Position = field(default_factory=Position)

    @classmethod
    def unbounded(cls) -> PositionBound:
        """However far the store has come."""
        return cls()

    @classmethod
    def at(cls, position: Position) -> PositionBound:
        """At least as far as ``position``."""
        return cls(position.copy())

    @property
    def is_unbounded(self) -> bool:
        """Whether anything will do."""
        return not self.position.topics

    def permits(self, position: Position, partition: int) -> bool:
        """Whether a store of ``partition`` that has come to ``position`` may answer."""
        for topic in self.position.topics:
            wanted = self.position.offset(topic, partition)
            seen = position.offset(topic, partition)
            if wanted is not None and (seen is None or seen < wanted):
                return False
        return True
