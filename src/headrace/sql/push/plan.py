"""Push queries: a query without a sink, whose rows go to who asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.sql.analysis.query import analysed
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.sources import WindowedKeys
from headrace.sql.planning.flow import Environment
from headrace.sql.planning.planner import result_of
from headrace.sql.planning.schemas import schema_of
from headrace.sql.planning.steps import Step, StreamSelect, TableSelect
from headrace.sql.schema import WINDOW_BOUNDS, Schema
from headrace.sql.tree.expressions import Column
from headrace.sql.tree.queries import Query


@dataclass(frozen=True, slots=True)
class PushPlan:
    """The steps, and what comes out of them: ``columns`` are those of an answer, in the order of the projection."""

    sources: tuple[str, ...]
    step: Step
    columns: Schema
    is_table: bool
    windows: WindowedKeys | None
    limit: int | None
    of_key: tuple[int | None, ...] = ()
    """Which part of the key each column is; bounds of windows come after the key. None is no part of it."""

    def gone(self, key: Any) -> list[Any]:
        """The answer about a row that is not there any more: its key, and nothing else."""
        parts = list(key) if self.windows is None else [*key.key, key.window.start, key.window.end]
        return [None if at is None else parts[at] for at in self.of_key]


def planned_push(query: Query, catalog: Catalog, environment: Environment) -> PushPlan:
    """The plan of a query with EMIT, or of one on a stream that ends where the stream ends now."""
    found = analysed(query, catalog, environment.functions, is_persistent=False)
    flow = result_of(found, environment)
    sources = tuple(each.source.name for each in found.scope.sources)
    return PushPlan(
        sources,
        flow.step,
        Schema(flow.schema.value),
        flow.is_table,
        flow.key_format.windows,
        query.limit,
        _parts_of_key(flow.step, environment),
    )


def _parts_of_key(step: StreamSelect | TableSelect, environment: Environment) -> tuple[int | None, ...]:
    key = [column.name for column in schema_of(step.source, environment.functions).key]
    parts = [*key, *WINDOW_BOUNDS]
    names = [each.expression.name if isinstance(each.expression, Column) else None for each in step.select_expressions]
    return tuple(parts.index(name) if name in parts else None for name in names)
