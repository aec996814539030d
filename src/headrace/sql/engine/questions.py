"""Questions: which plan answers a SELECT that nothing keeps running."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.sql.catalog.catalog import Catalog
from headrace.sql.planning.flow import Environment
from headrace.sql.planning.plans import QueryPlan
from headrace.sql.pull.plan import planned_pull, planned_stream_pull
from headrace.sql.push.plan import planned_push
from headrace.sql.tree.queries import Query
from headrace.sql.tree.statements import SourceKind


def check_question(query: Query, catalog: Catalog, queries: Mapping[str, QueryPlan], environment: Environment) -> None:
    """An SqlError where the query could not be answered; ``queries`` are those that keep tables."""
    if query.emit is not None:
        planned_push(query, catalog, environment)
    elif catalog.source(query.source.name, query.source.at).kind is SourceKind.STREAM:
        planned_stream_pull(query, catalog, environment)
    else:
        planned_pull(query, catalog, queries, environment)
