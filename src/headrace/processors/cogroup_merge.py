"""Brings the aggregations of a cogroup together (Java: KTablePassThrough).

They share one store, so their changes just pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.processors.aggregation import Aggregation
from headrace.processors.api import NodeContext, Processor
from headrace.processors.materialized import ValueGetterSupplier
from headrace.records import Record


@dataclass
class CogroupMerge:
    """The supplier of the node below the aggregations; the table is theirs."""

    aggregations: tuple[Aggregation, ...]

    def __call__(self) -> CogroupMergeProcessor:
        return CogroupMergeProcessor()

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        for aggregation in self.aggregations:
            aggregation.enable_sending_old_values(force_materialization)
        return True

    def view(self) -> ValueGetterSupplier:
        """How others look the table up: in the store that all aggregations share."""
        return self.aggregations[0].view()


class CogroupMergeProcessor(Processor):
    def init(self, context: NodeContext) -> None:
        self.context = context
        self._forward = context.forward

    def process(self, record: Record[Any, Any]) -> None:
        self._forward(record)
