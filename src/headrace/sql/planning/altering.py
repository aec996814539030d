"""ALTER, DROP and CREATE TYPE: what they change, and when they may."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.sources import Source
from headrace.sql.errors import SqlError
from headrace.sql.planning import plans
from headrace.sql.planning.plans import QueryPlan
from headrace.sql.schema import RESERVED_COLUMNS, Column
from headrace.sql.tree import statements as st


def altered_source(statement: st.AlterSource, catalog: Catalog, queries: Mapping[str, QueryPlan]) -> plans.AlterSource:
    """The columns that ALTER adds; the results of queries have the columns of their queries."""
    source = catalog.source(statement.name)
    _check_kind(source, statement.kind, "ALTER")
    if source.is_read_only:
        message = f"{source.name} is a SOURCE {source.kind.value}, and these cannot be altered"
        raise SqlError("ddl.source-is-read-only", message)
    if any(plan.sink == source.name and not plan.is_insert for plan in queries.values()):
        message = f"{source.name} is the result of a query, and these cannot be altered"
        raise SqlError("ddl.alter", message, hint="CREATE OR REPLACE ... AS SELECT changes it.")
    columns: list[Column] = []
    for definition in statement.columns:
        known = [column.name for column in (*source.schema, *columns)]
        if definition.name in known or definition.name in RESERVED_COLUMNS:
            message = f"the column `{definition.name}` cannot be added: there is one already"
            raise SqlError("name.duplicate", message, offset=definition.at)
        columns.append(Column(definition.name, catalog.resolved(definition.type)))
    return plans.AlterSource(source.name, source.kind, tuple(columns))


def dropped_source(statement: st.DropSource, catalog: Catalog, queries: Mapping[str, QueryPlan]) -> str | None:
    """The name of what is dropped; None where there is nothing, and that is no error."""
    if statement.if_exists and statement.name not in catalog.sources:
        return None
    source = catalog.source(statement.name)
    _check_kind(source, statement.kind, "DROP")
    if source.is_read_only and statement.delete_topic:
        message = (
            f"{source.name} is a SOURCE {source.kind.value}: its topic cannot be deleted, it is a read-only source"
        )
        raise SqlError("ddl.source-is-read-only", message)
    _check_unused(source, queries)
    return source.name


def _check_unused(source: Source, queries: Mapping[str, QueryPlan]) -> None:
    """What reads it goes first; the query that made it goes with it."""
    readers = sorted(
        id_ for id_, plan in queries.items() if source.name in plan.sources and plan.sink not in {None, source.name}
    )
    inserts = sorted(id_ for id_, plan in queries.items() if plan.sink == source.name and not _made(id_, source))
    for what, ids in (("read from it", readers), ("write to it", inserts)):
        if ids:
            message = f"{source.name} cannot be dropped while queries {what}: {', '.join(ids)}"
            raise SqlError("ddl.in-use", message, hint="Drop what they make, or TERMINATE them, first.")


def _made(query_id: str, source: Source) -> bool:
    return query_id.startswith((f"CSAS_{source.name.upper()}_", f"CTAS_{source.name.upper()}_"))


def _check_kind(source: Source, kind: st.SourceKind, what: str) -> None:
    if source.kind is not kind:
        message = f"{source.name} is a {source.kind.value}, and cannot be changed with {what} {kind.value}"
        raise SqlError("ddl.kind", message, hint=f"Write {what} {source.kind.value} {source.name}.")


def new_type(statement: st.CreateType, catalog: Catalog) -> plans.RegisterType | None:
    """The name for a type; None where it is known, and that is no error."""
    if statement.name in catalog.types:
        if statement.if_not_exists:
            return None
        raise SqlError("ddl.exists", f"there is a type {statement.name} already")
    return plans.RegisterType(statement.name, catalog.resolved(statement.type))
