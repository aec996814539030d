"""Brings the aggregations of a cogroup together (Java: KTablePassThrough).

They share one store, so their changes just pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.processors.aggregation import Aggregation
from headrace.processors.materialized import ValueGetterSupplier
from headrace.processors.pass_through import PassThrough


@dataclass
class CogroupMerge:
    """The supplier of the node below the aggregations; the table is theirs."""

    aggregations: tuple[Aggregation, ...]

    def __call__(self) -> PassThrough:
        return PassThrough()

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        for aggregation in self.aggregations:
            aggregation.enable_sending_old_values(force_materialization)
        return True

    def view(self) -> ValueGetterSupplier:
        """How others look the table up: in the store that all aggregations share."""
        return self.aggregations[0].view()
