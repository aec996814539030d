"""EXPLAIN: the steps and the topology of a query, running or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.sql.build.queries import topology_of
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.engine.answers import Table
from headrace.sql.engine.describing import query_facts
from headrace.sql.engine.knowledge import Knowledge
from headrace.sql.errors import SqlError
from headrace.sql.planning.as_json import step_as_json
from headrace.sql.planning.flow import Environment
from headrace.sql.planning.plans import QueryPlan
from headrace.sql.planning.schemas import schema_of
from headrace.sql.planning.steps import Step, inputs
from headrace.sql.processing_log import ProcessingLog
from headrace.sql.push.plan import planned_push
from headrace.sql.tree.queries import Query

_LEFT_OUT = {"@type", "properties", "source", "leftSource", "rightSource"}


def explained_query(query_id: str, known: Knowledge) -> tuple[Table, ...]:
    """A running query."""
    query = known.queries.get(query_id)
    if query is None:
        message = f"there is no query {query_id}"
        raise SqlError("name.query", message, hint="SHOW QUERIES; lists those there are.")
    facts = Table(query.id, ("Property", "Value"), tuple(query_facts(query, known)))
    return facts, *explained_plan(query.plan, known, query.settings)


def explained_push(query: Query, catalog: Catalog, environment: Environment) -> QueryPlan:
    """The plan of a query that would run for as long as somebody looks."""
    if query.emit is None:
        message = "a question that is answered once runs no query"
        raise SqlError("explain.nothing", message, hint="With EMIT CHANGES it would run one.")
    plan = planned_push(query, catalog, environment)
    return QueryPlan(plan.sources, None, plan.step, "EXPLAINED")


def explained_plan(plan: QueryPlan, known: Knowledge, settings: Mapping[str, Any]) -> tuple[Table, ...]:
    """The steps of a plan, from the sink down, and the topology that it becomes."""
    steps = Table("Steps", ("Step", "What", "Columns"), tuple(_steps(plan.physical_plan, known, 0)))
    topology = topology_of(plan, known.functions, ProcessingLog(), known.registry, settings)
    lines = str(topology.describe()).strip().splitlines()
    return steps, Table("Topology", ("Topology",), tuple((line,) for line in lines))


def _steps(step: Step, known: Knowledge, depth: int) -> Iterator[tuple[str, str, str]]:
    written = step_as_json(step)
    said = {name: value for name, value in written.items() if name not in _LEFT_OUT and value is not None}
    what = ", ".join(f"{name}: {_short(value)}" for name, value in said.items())
    yield f"{'  ' * depth}{step.name} ({type(step).__name__})", what, str(schema_of(step, known.functions))
    for below in inputs(step):
        yield from _steps(below, known, depth + 1)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict) and "keyFormat" in value:
        return f"{value['keyFormat']['format']} and {value['valueFormat']['format']}"
    return str(value)
