"""The names that a query would have on the broker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.errors import ConfigError, TopologyError
from headrace.names import MAX_NAME_LENGTH
from headrace.serde.registry import SchemaRegistry
from headrace.sql.build.queries import application_id, topology_of
from headrace.sql.errors import SqlError
from headrace.sql.functions.registry import Registry
from headrace.sql.planning.plans import QueryPlan
from headrace.sql.processing_log import ProcessingLog

_ADDED = 100
"""Names of internal topics add less than this to that of the application."""


def check_names(
    plan: QueryPlan, functions: Registry, registry: SchemaRegistry | None, settings: Mapping[str, Any]
) -> None:
    """Refuse a query whose application, or a topic of it, would have too long a name."""
    application = application_id(plan.query_id, settings)
    if len(application) + _ADDED <= MAX_NAME_LENGTH:
        return
    try:
        topology = topology_of(plan, functions, ProcessingLog(), registry, settings)
        topology.configured({"application.id": application}).internal_topics()
    except (ConfigError, TopologyError) as error:
        message = f"the query {plan.query_id} cannot run: its name is part of others, and these would be too long"
        raise SqlError("ddl.name", message, detail=error.message, hint="Choose a shorter name.") from None
