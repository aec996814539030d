"""Table functions in a projection, and where they may stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headrace.sql.errors import SqlError
from headrace.sql.functions.declare import Kind
from headrace.sql.functions.registry import Registry
from headrace.sql.text.format import shown
from headrace.sql.tree.expressions import Call, Case, Expression
from headrace.sql.tree.queries import Selected, SelectItem
from headrace.sql.tree.walking import parts


def table_functions(items: Iterable[SelectItem], functions: Registry, *, is_grouped: bool) -> tuple[Call, ...]:
    """The table functions of a projection, in their order; an error for one that cannot be where it is."""
    selected = (item.expression for item in items if isinstance(item, Selected))
    found = tuple(call for each in selected for call in _calls(each, functions, None, None))
    if found and is_grouped:
        message = f"the table function {found[0].name} cannot be used together with aggregates"
        raise SqlError("agg.table-function", message, offset=found[0].at)
    return found


def _calls(node: Expression, functions: Registry, outer: str | None, case: Case | None) -> Iterator[Call]:
    if isinstance(node, Case):
        case = node
    if isinstance(node, Call) and functions.kind(node.name, node.at) is Kind.TABLE:
        if outer is not None:
            message = f"table functions cannot be inside each other: {outer}({node.name}())"
            raise SqlError("agg.table-function", message, offset=node.at)
        if case is not None:
            message = f"the table function {node.name} cannot be used in CASE: {shown(case)}"
            raise SqlError("agg.table-function", message, offset=node.at)
        outer = node.name
        yield node
    for part in parts(node):
        yield from _calls(part, functions, outer, case)
