"""The greatest k values."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge as merged
from itertools import islice
from typing import Any

from headrace.sql.functions.declare import aggregate
from headrace.sql.functions.natural import distinct, is_among, order
from headrace.sql.tree.types import Array, Field, SqlType, Struct


def _list_type(given: Sequence[SqlType | None]) -> SqlType:
    """A list of the column's type; of structs where there are other columns. The last argument is k."""
    first, *others = given[:-1]
    assert first is not None
    if not others:
        return Array(first)
    fields = [Field(f"col{index}", type_) for index, type_ in enumerate(others) if type_ is not None]
    return Array(Struct((Field("sort_col", first), *fields)))


@aggregate(
    "TOPK",
    *(
        f"({name} column, ANY... others, INTEGER k const) -> ARRAY<{name}>"
        for name in ("INTEGER", "BIGINT", "DOUBLE", "STRING")
    ),
    stored_as=_list_type,
    returns=_list_type,
    description="The greatest k values, in descending order; with other columns beside them.",
)
class TopK:
    """With other columns, the values are structs, and rows whose first column is null do not count."""

    def __init__(self, k: int) -> None:
        self._k = k

    def initial(self) -> list[Any]:
        return []

    def add(self, value: Any, top: list[Any]) -> list[Any]:
        if _sorted_by(value) is None:
            return top
        if len(top) == self._k:
            if not top or _order(value) <= _order(top[-1]):
                return top
            top = top[:-1]
        return sorted([*top, value], key=_order, reverse=True)

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        return list(islice(merged(left, right, key=_order, reverse=True), self._k))


def _sorted_by(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


def _order(value: Any) -> Any:
    return order(_sorted_by(value))


_DISTINCT_NAMES = ("INTEGER", "BIGINT", "DOUBLE", "STRING", "DECIMAL", "DATE", "TIME", "TIMESTAMP", "BYTES")


@aggregate(
    "TOPKDISTINCT",
    *(f"({name} column, INTEGER k const) -> ARRAY<{name}>" for name in _DISTINCT_NAMES),
    stored_as=_list_type,
    returns=_list_type,
    description="The greatest k different values, in descending order.",
)
class TopKDistinct(TopK):
    """Each value once."""

    def add(self, value: Any, top: list[Any]) -> list[Any]:
        return top if is_among(value, top) else super().add(value, top)

    def merge(self, left: list[Any], right: list[Any]) -> list[Any]:
        return distinct(merged(left, right, key=order, reverse=True))[: self._k]
