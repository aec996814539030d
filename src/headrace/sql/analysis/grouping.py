"""GROUP BY: which aggregates there are, which columns they need, and which are neither grouped nor aggregated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from headrace.sql.errors import SqlError
from headrace.sql.functions.declare import Kind
from headrace.sql.functions.registry import Registry
from headrace.sql.schema import WINDOW_BOUNDS
from headrace.sql.text.format import shown
from headrace.sql.tree.expressions import Call, Column, Expression
from headrace.sql.tree.walking import parts


@dataclass(frozen=True, slots=True)
class Grouped:
    """What an aggregation needs: columns in the order of their first use, and its aggregates in theirs."""

    required: tuple[Column, ...]
    aggregates: tuple[Call, ...]

    @property
    def arguments(self) -> Iterator[Expression]:
        """The arguments of all aggregates."""
        return (argument for call in self.aggregates for argument in call.arguments)


@dataclass(slots=True)
class Grouping:
    """Looks through the clauses of a query with GROUP BY. Expressions are in names of rows."""

    by: Sequence[Expression]
    makes_windows: bool
    counted: Column
    """What COUNT(*) counts."""
    functions: Registry
    _required: dict[Column, None] = field(default_factory=dict)
    _aggregates: list[Call] = field(default_factory=list)

    def analysed(self, selected: Sequence[Expression], where: Expression | None, having: Expression | None) -> Grouped:
        """What these clauses need; an error for a column that is neither grouped nor aggregated."""
        wrong = [each for each in selected if not self._is_grouped(each)]
        if where is not None:
            self._visit_all(where, "WHERE")
        for each in self.by:
            self._visit_all(each, "GROUP BY")
        loose = [] if having is None else [each for each in self._visit_all(having, "HAVING") if each not in self.by]
        self._check(wrong, loose)
        return Grouped(tuple(self._required), tuple(self._aggregates))

    def _is_grouped(self, selected: Expression) -> bool:
        loose = [column for column, in_aggregate in self._visit(selected, "SELECT") if not in_aggregate]
        bounds = [Column(name) for name in WINDOW_BOUNDS] if self.makes_windows else []
        return selected in self.by or all(column in self.by or column in bounds for column in loose)

    def _visit_all(self, expression: Expression, clause: str) -> list[Column]:
        """The columns outside of aggregates; bounds of windows have no place in these clauses."""
        found = []
        for column, in_aggregate in self._visit(expression, clause):
            self._check_bound(column)
            if not in_aggregate:
                found.append(column)
        return found

    def _visit(self, expression: Expression, clause: str) -> list[tuple[Column, bool]]:
        found: list[tuple[Column, bool]] = []
        self._collect(expression, None, False, found)
        for column, in_aggregate in found:
            if in_aggregate and clause == "SELECT":
                self._check_bound(column)
        return found

    def _collect(
        self, node: Expression, aggregate: str | None, in_group: bool, found: list[tuple[Column, bool]]
    ) -> None:
        """Outside of what is grouped each column counts, inside of it none does, bounds of windows always do."""
        in_group = in_group or node in self.by
        if isinstance(node, Column):
            if aggregate is not None or not in_group or node.name in WINDOW_BOUNDS:
                found.append((node, aggregate is not None))
            if node.name not in WINDOW_BOUNDS:
                self._required.setdefault(node)
        if isinstance(node, Call) and self.functions.kind(node.name, node.at) is Kind.AGGREGATE:
            if aggregate is not None:
                message = f"aggregates cannot be inside each other: {aggregate}({node.name}())"
                raise SqlError("agg.nested", message, offset=node.at)
            node = node if node.arguments else replace(node, arguments=(self.counted,), star=False)
            aggregate = node.name
            self._aggregates.append(node)
        for part in parts(node):
            self._collect(part, aggregate, in_group, found)

    def _check_bound(self, column: Column) -> None:
        if self.makes_windows and column.name in WINDOW_BOUNDS:
            message = (
                f"the window bound {column.name} can only be selected where the window is made: it is not there in"
                " other clauses nor in arguments of aggregates"
            )
            raise SqlError("agg.window-bounds", message, offset=column.at)

    def _check(self, selected: list[Expression], having: list[Column]) -> None:
        if not self._aggregates:
            message = "GROUP BY needs an aggregate such as COUNT(*) in SELECT or HAVING"
            hint = "Select one, or leave GROUP BY out."
            raise SqlError("agg.needs-function", message, hint=hint, offset=self.by[0].at)
        for clause, wrong in (("SELECT", selected), ("HAVING", having)):
            if wrong:
                names = ", ".join(map(shown, wrong))
                message = f"{names} in {clause} is neither grouped nor aggregated"
                hint = "Add it to GROUP BY, or take it out."
                raise SqlError("agg.not-grouped", message, hint=hint, offset=wrong[0].at)
