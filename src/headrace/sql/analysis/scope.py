"""The sources of a query, and which column of which source a name means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from headrace.near_names import did_you_mean
from headrace.sql.analysis.names import joined_name, may_be_synthetic_key
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.sources import Source
from headrace.sql.errors import NOWHERE, SqlError
from headrace.sql.schema import PSEUDO_COLUMNS, WINDOW_BOUNDS
from headrace.sql.text.format import shown
from headrace.sql.text.meant import UNITS_HINT
from headrace.sql.tree import queries as q
from headrace.sql.tree.expressions import Column, Expression, Lambda
from headrace.sql.tree.names import quoted
from headrace.sql.tree.walking import columns_of, rewritten, walk

_UNITS = frozenset(["DAY", "HOUR", "MINUTE", "SECOND", "WEEK", "WEEKS", "MONTH", "QUARTER", "YEAR"])
_LISTED = 10
"""How many columns an error lists."""


@dataclass(frozen=True, slots=True)
class Aliased:
    """A source under the name that it has in this query."""

    alias: str
    source: Source
    at: int = field(default=NOWHERE, compare=False, repr=False)

    def has(self, name: str) -> bool:
        """Whether that is one of its columns, also of those that it did not declare."""
        if name in PSEUDO_COLUMNS or (name in WINDOW_BOUNDS and self.source.windows is not None):
            return True
        return self.source.schema.find(name) is not None


@dataclass(frozen=True, slots=True)
class Scope:
    """What names may mean; ``makes_windows`` if the query cuts a stream into windows, which then have bounds."""

    sources: tuple[Aliased, ...]
    makes_windows: bool = False

    @property
    def is_join(self) -> bool:
        """Whether there are several sources."""
        return len(self.sources) > 1

    def aliased(self, alias: str, offset: int | None = None) -> Aliased:
        """The source that has that name in the query."""
        for each in self.sources:
            if each.alias == alias:
                return each
        hint = did_you_mean(alias, [each.alias for each in self.sources], shown=str)
        if any(each.source.schema.find(alias) is not None for each in self.sources):
            hint = f"A field of the column {quoted(alias)} is written with an arrow: {quoted(alias)}->..."
        message = f"{alias} is no stream, table or alias of this query"
        raise SqlError("name.source", message, hint=hint, offset=offset)

    def clashes(self, name: str) -> bool:
        """Whether several sources have such a column."""
        declared = sum(each.source.schema.find(name) is not None for each in self.sources)
        return self.is_join and (name in PSEUDO_COLUMNS or declared > 1)

    def qualified(self, expression: Expression) -> Expression:
        """The expression with the source of each column; columns that no source has stay as they are."""
        self._check_lambdas(expression)
        return rewritten(expression, lambda part: self._with_source(part) if isinstance(part, Column) else None)

    def in_row(self, expression: Expression) -> Expression:
        """The expression with the names that columns have in the rows of the query."""
        return rewritten(expression, lambda part: self.row_column(part) if isinstance(part, Column) else None)

    def row_column(self, column: Column) -> Column:
        """The column under the name that it has in the rows of the query."""
        if column.source is None:
            return column
        name = joined_name(column.source, column.name) if self.is_join else column.name
        return replace(column, name=name, source=None)

    def sources_of(self, expression: Expression, clause: str, *, synthetic: bool = False) -> frozenset[str]:
        """The aliases of the sources that it reads; an error for a column that does not exist.

        ``synthetic`` allows for the key that a join makes up.
        """
        return frozenset(self._sources_of(expression, clause, synthetic=synthetic))

    def _sources_of(self, expression: Expression, clause: str, *, synthetic: bool) -> Iterator[str]:
        for column in columns_of(expression):
            found = [each.alias for each in self._candidates(column) if self._knows(each, column.name)]
            if column.source is None and column.name in WINDOW_BOUNDS and len(found) > 1:
                found = []
            is_synthetic = synthetic and self.is_join and column.source is None and may_be_synthetic_key(column.name)
            if not found and not is_synthetic:
                raise self._unknown(column, clause)
            yield from found

    def _candidates(self, column: Column) -> tuple[Aliased, ...]:
        return tuple(each for each in self.sources if column.source in {None, each.alias})

    def _knows(self, aliased: Aliased, name: str) -> bool:
        return aliased.has(name) or (self.makes_windows and name in WINDOW_BOUNDS)

    def _with_source(self, column: Column) -> Column:
        if column.source is not None:
            return column
        found = [each.alias for each in self.sources if each.has(column.name)]
        if len(found) > 1:
            choices = " or ".join(f"{alias}.{column.name}" for alias in sorted(found))
            message = f"the column `{column.name}` is ambiguous: it could be {choices}"
            raise SqlError("name.ambiguous", message, offset=column.at)
        return replace(column, source=found[0]) if found else column

    def _check_lambdas(self, expression: Expression) -> None:
        for part in walk(expression):
            for name in part.parameters if isinstance(part, Lambda) else ():
                if any(each.source.schema.find(name) for each in self.sources):
                    message = f"the parameter {name} of a lambda has the name of a column"
                    raise SqlError("name.lambda", message, hint="Give it another name.", offset=part.at)

    def _unknown(self, column: Column, clause: str) -> SqlError:
        names = [known.name for each in self._candidates(column) for known in each.source.schema]
        message = f"the column {shown(column)} in {clause} cannot be resolved: no source has it"
        hint = did_you_mean(column.name, names, shown=quoted)
        if column.name in _UNITS:
            hint = hint or UNITS_HINT
        if clause == "PARTITION BY":
            hint = hint or "PARTITION BY names columns of the source, not of the result."
        return SqlError("name.column", message, hint=hint or _listed(names), offset=column.at)


def _listed(names: list[str]) -> str | None:
    more = ", ..." if len(names) > _LISTED else ""
    return f"There are {', '.join(map(quoted, names[:_LISTED]))}{more}." if names else None


def scope_of(query: q.Query, catalog: Catalog) -> Scope:
    """The sources that the query reads."""
    read = [query.source, *(join.source for join in query.joins)]
    sources = tuple(Aliased(each.alias or each.name, catalog.source(each.name, each.at), each.at) for each in read)
    return Scope(sources, query.window is not None)
