"""Going through expressions: what is inside one, and the same with parts replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, get_args

from headrace.sql.tree.expressions import Column, Expression, Node, When

_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(each.name for each in fields(kind) if each.name != "at") for kind in get_args(Expression)
}
"""What each kind of expression has, apart from its place."""


def parts(node: Expression) -> Iterator[Expression]:
    """What stands directly inside, in the order in which it is written."""
    for name in _FIELDS[type(node)]:
        yield from _nodes(getattr(node, name))


def walk(node: Expression) -> Iterator[Expression]:
    """The node itself and all that is inside, outermost first."""
    yield node
    for part in parts(node):
        yield from walk(part)


def has_more_levels(node: Expression, limit: int) -> bool:
    """Whether more than ``limit`` parts are inside of each other. It takes any tree, however deep."""
    level = [node]
    for _ in range(limit):
        level = [part for each in level for part in parts(each)]
        if not level:
            return False
    return True


def columns_of(node: Expression) -> Iterator[Column]:
    """The columns that it reads, in the order in which they are written, each as often as it is."""
    return (part for part in walk(node) if isinstance(part, Column))


def rewritten(node: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """The expression with parts replaced: what ``change`` gives stands for the whole part, None means look inside.

    >>> from headrace.sql.text.format import shown
    >>> from headrace.sql.text.parser import parse_expression
    >>> from headrace.sql.tree.expressions import Column
    >>> shown(rewritten(parse_expression("a + f(b)"), lambda part: Column("C") if part == Column("B") else None))
    '(A + F(C))'
    """
    found = change(node)
    if found is not None:
        return found
    changes = {}
    for name in _FIELDS[type(node)]:
        value = getattr(node, name)
        new = _rewritten(value, change)
        if new is not value:
            changes[name] = new
    return replace(node, **changes) if changes else node


def _nodes(value: Any) -> Iterator[Expression]:
    if isinstance(value, Node):
        yield value  # type: ignore[misc]  # every Node is one of the expressions
    elif isinstance(value, When):
        yield value.condition
        yield value.result
    elif isinstance(value, tuple):
        for each in value:
            yield from _nodes(each)


def _rewritten(value: Any, change: Callable[[Expression], Expression | None]) -> Any:
    if isinstance(value, Node):
        return rewritten(value, change)  # type: ignore[arg-type]  # every Node is one of the expressions
    if isinstance(value, When):
        condition, result = rewritten(value.condition, change), rewritten(value.result, change)
        return value if condition is value.condition and result is value.result else When(condition, result)
    if isinstance(value, tuple):
        items = tuple(_rewritten(each, change) for each in value)
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value
