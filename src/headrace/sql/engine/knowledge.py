"""What there is to show and to describe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.serde.registry import SchemaRegistry
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.engine.ports import PersistentQuery, Queries, Topics
from headrace.sql.engine.session import Session
from headrace.sql.functions.registry import Registry


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All that an engine knows when it is asked."""

    catalog: Catalog
    queries: Mapping[str, PersistentQuery]
    functions: Registry
    settings: Mapping[str, Any]
    session: Session
    topics: Topics
    running: Queries
    registry: SchemaRegistry | None

    def readers(self, source: str) -> list[PersistentQuery]:
        """The queries that read a source."""
        return [query for query in self.queries.values() if source in query.plan.sources]

    def writers(self, source: str) -> list[PersistentQuery]:
        """The queries that write to a source."""
        return [query for query in self.queries.values() if query.plan.sink == source]
