"""What the operators without state share: they are their own suppliers, and say what they do to a record.

A topology holds operators that were never started; a task calls each of them to get one of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

from headrace.processors.api import NodeContext, Processor
from headrace.records import Record


class Fusible(NamedTuple):
    """An operator in a form that a fused loop can take over."""

    kind: str
    """filter, filter_not, map, select_key, map_values, flat_map, flat_map_values, peek, pass or new_value."""
    function: Callable[..., Any] | None
    with_key: bool = True
    """Whether the function takes the key before the value."""


class Stateless(Processor):
    """An operator that keeps nothing between records and can be copied while it has no context."""

    _forward: Callable[[Record[Any, Any]], None]

    def __call__(self) -> Any:
        """A copy for one task: an operator is its own supplier."""
        return copy(self)

    def init(self, context: NodeContext) -> None:
        self._forward = context.forward

    @property
    def fusible(self) -> Fusible | None:
        """What the operator does to a record; None where it must stay a node of its own."""
        return None
