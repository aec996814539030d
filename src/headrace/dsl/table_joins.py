"""The joins of a KTable with another: by key here, by foreign key in ``foreign_key``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.dsl import foreign_key as foreign_keys
from headrace.dsl.operator import check_function
from headrace.errors import ArgumentError, OperatorTypeError, user_line
from headrace.plan import names
from headrace.plan.graph import Step, TableTableJoinNode
from headrace.plan.names import name_or_generate, suffixed_or_generate
from headrace.plan.stores import KeyValueMaterializer
from headrace.processors.table_table_join import ReversedJoiner, TableJoinMerge, TableJoinSide

if TYPE_CHECKING:
    from headrace.dsl.join_kinds import JoinKind
    from headrace.dsl.ktable import KTable
    from headrace.plan.materialized import Materialized


def join(
    left: KTable,
    right: KTable,
    joiner: Callable[[Any, Any], Any],
    kind: JoinKind,
    name: str | None,
    materialized: Materialized | None,
    foreign_key: Callable[..., Any] | None = None,
    *,
    with_key: bool = False,
    partitioners: tuple[Any, Any] = (None, None),
) -> KTable:
    """Join ``left`` with the rows of ``right`` that have its keys, or that ``foreign_key`` names."""
    if not isinstance(right, left.builder.views.table):
        message = f"{kind.method}(): a table joins with a KTable, not with {right!r}"
        raise OperatorTypeError(message, at=user_line())
    check_function(joiner, 2, operator=kind.method, argument="joiner", with_key=False)
    if foreign_key is None:
        if with_key or partitioners != (None, None):
            message = f"{kind.method}(): with_key, partitioner and other_partitioner belong to foreign-key joins"
            raise ArgumentError(message, hint="Give foreign_key= too, or leave them out.", at=user_line())
        return _join_by_key(left, right, joiner, kind, name, materialized)
    check_function(foreign_key, 2 if with_key else 1, operator=kind.method, argument="foreign_key")
    return foreign_keys.join(
        left, right, foreign_key, joiner, partitioners, name, materialized, with_key=with_key, left_join=kind.left_outer
    )


def _join_by_key(
    left: KTable,
    right: KTable,
    joiner: Callable[[Any, Any], Any],
    kind: JoinKind,
    name: str | None,
    materialized: Materialized | None,
) -> KTable:
    builder, keep_left, keep_right = left.builder, kind.left_outer, kind.right_outer
    if materialized is not None:
        materialized.named(builder, names.TABLE_MERGE)
        materialized.key_serde = materialized.key_serde or left.key_serde
    merge_name = name_or_generate(name, builder, names.TABLE_MERGE)
    sources = left.copartition_with(right)
    if keep_left:
        left.enable_sending_old_values(True)
    if keep_right:
        right.enable_sending_old_values(True)
    left_side = TableJoinSide(left.supplier, right.supplier, joiner, not keep_right, not keep_left)
    right_side = TableJoinSide(right.supplier, left.supplier, ReversedJoiner(joiner), not keep_left, not keep_right)
    merge = TableJoinMerge(left_side, right_side, None if materialized is None else KeyValueMaterializer(materialized))
    node = TableTableJoinNode(
        merge_name,
        Step(suffixed_or_generate(name, "-join-this", builder, names.TABLE_JOIN_THIS), left_side),
        Step(suffixed_or_generate(name, "-join-other", builder, names.TABLE_JOIN_OTHER), right_side),
        Step(merge_name, merge),
        left.name,
        right.name,
        left.value_getter_supplier().store_names,
        right.value_getter_supplier().store_names,
    )
    node.output_versioned = materialized is not None and materialized.is_versioned
    return builder.add_table(
        [left.node, right.node],
        node,
        merge,
        left.key_serde if materialized is None else materialized.key_serde,
        None if materialized is None else materialized.value_serde,
        sources,
        None if materialized is None else materialized.store_name,
    )
