"""Keys made of expressions: for another partitioning, and for groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.sql.build.context import BuildContext
from headrace.sql.build.rows import GroupKey, KeyPart, NewKey, no_key
from headrace.sql.compile import value
from headrace.sql.planning import steps as s
from headrace.sql.schema import Schema
from headrace.sql.tree import expressions as e
from headrace.sql.tree.walking import columns_of


def new_key(
    step: s.StreamSelectKey | s.TableSelectKey, below: Schema, context: BuildContext
) -> Callable[[Any, Any], tuple[Any, Any]]:
    """What gives a record the key of the step's expressions; NULL is no key at all."""
    if any(isinstance(each, e.NullLiteral) for each in step.key_expression):
        return no_key
    return NewKey(tuple(_part(each, step, below, context) for each in step.key_expression))


def _part(
    expression: e.Expression, step: s.StreamSelectKey | s.TableSelectKey, below: Schema, context: BuildContext
) -> KeyPart:
    keys = {column.name for column in below.key}
    of_key = all(column.name in keys for column in columns_of(expression))
    compiled = value(expression, below.key if of_key else below.value, context.functions)
    return KeyPart(compiled, context.logger(step), of_key, not isinstance(expression, e.Column))


def group_key(step: s.StreamGroupBy | s.TableGroupBy, below: Schema, context: BuildContext) -> GroupKey:
    """What gives a row the key of its group."""
    parts = tuple(value(each, below.value, context.functions) for each in step.group_by_expressions)
    return GroupKey(parts, context.logger(step))
