"""GlobalKTable: a table of which every instance holds all partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic

from headrace.guesses import Face
from headrace.type_variables import K, V

if TYPE_CHECKING:
    from headrace.processors.materialized import ValueGetterSupplier


class GlobalKTable(Face, Generic[K, V]):
    """A table to be joined by any key, without repartitioning. Made by ``StreamsBuilder.global_table``.

    It is not partitioned with the streams that join it: a record joins the row that is there when it comes.
    """

    _internal = frozenset({"value_getter_supplier"})

    def __init__(self, value_getter_supplier: ValueGetterSupplier, queryable_store_name: str | None) -> None:
        self._value_getter_supplier = value_getter_supplier
        self.queryable_store_name = queryable_store_name
        """The store's name for queries; None where it was generated for a store without a name."""

    def __repr__(self) -> str:
        return f"<GlobalKTable: store {self.queryable_store_name or 'without a name'}>"

    def value_getter_supplier(self) -> ValueGetterSupplier:
        """How joins look the table up."""
        return self._value_getter_supplier
