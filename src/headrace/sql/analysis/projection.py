"""What SELECT lists: every item under a name, and whether it contains what a key needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.sql.analysis.names import GeneratedNames, joined_name
from headrace.sql.analysis.scope import Scope
from headrace.sql.errors import SqlError
from headrace.sql.schema import RESERVED_COLUMNS
from headrace.sql.text.format import shown
from headrace.sql.tree.expressions import Column, Expression
from headrace.sql.tree.queries import AllColumns, AllFields, Selected, SelectItem


def named_items(items: Iterable[SelectItem], scope: Scope) -> tuple[SelectItem, ...]:
    """The items with their columns' sources, and a name for each expression that has none."""
    names = GeneratedNames(column for each in scope.sources for column in each.source.schema)
    return tuple(_named(item, scope, names) for item in items)


def _named(item: SelectItem, scope: Scope, names: GeneratedNames) -> SelectItem:
    match item:
        case AllColumns():
            if item.source is not None:
                scope.aliased(item.source, item.at)
            return item
        case AllFields():
            return AllFields(scope.qualified(item.base))
        case Selected():
            expression = scope.qualified(item.expression)
            return Selected(expression, item.alias or _default_name(expression, scope, names))


def _default_name(expression: Expression, scope: Scope, names: GeneratedNames) -> str:
    if not isinstance(expression, Column):
        return names.of_expression(expression)
    if expression.source is not None and scope.clashes(expression.name):
        return joined_name(expression.source, expression.name)
    return expression.name


def check_names(items: Iterable[SelectItem], *, is_persistent: bool) -> None:
    """Refuse names that every source uses for its own columns."""
    for item in items:
        if not isinstance(item, Selected) or item.alias is None or item.alias.upper() not in RESERVED_COLUMNS:
            continue
        name, text = item.alias.upper(), shown(item.expression)
        if text[text.find(".") + 1 :].upper() != name:
            message = f"`{name}` is a reserved name, and cannot be given to another column"
            raise SqlError("ddl.reserved-name", message, offset=item.expression.at)
        if is_persistent:
            message = f"`{name}` is a reserved name: a stream or table cannot have such a column of its own"
            hint = f"Give it a name: {name} AS SOME_NAME."
            raise SqlError("select.reserved", message, hint=hint, offset=item.expression.at)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a projection contains, in names of rows."""

    has_all: bool
    has_all_of: frozenset[str]
    expressions: frozenset[str]

    def has(self, expression: Expression) -> bool:
        """Whether it is in the projection, by itself or among all columns."""
        if self.has_all or (isinstance(expression, Column) and expression.source in self.has_all_of):
            return True
        return shown(expression) in self.expressions


def contents(items: Iterable[SelectItem]) -> Contents:
    """What the items contain."""
    items = tuple(items)
    stars = [item for item in items if isinstance(item, AllColumns)]
    texts = {shown(item.expression) for item in items if isinstance(item, Selected)}
    texts |= {shown(item.base) for item in items if isinstance(item, AllFields)}
    sources = frozenset(item.source for item in stars if item.source is not None)
    return Contents(any(item.source is None for item in stars), sources, frozenset(texts))
