"""Plans compared with ksqlDB's recorded ones: steps, query ids, sources, and the schemas of all that is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.sql.catalog.catalog import Catalog
from headrace.sql.errors import SqlError
from headrace.sql.functions import Registry
from headrace.sql.planning import steps as s
from headrace.sql.planning.as_json import plan_as_json, plan_from_json
from headrace.sql.planning.plans import QueryPlan, StatementPlan
from headrace.sql.planning.schemas import schema_of, stored_aggregate, stored_source
from headrace.sql.schema import Schema
from headrace.sql.tree.queries import JoinKind
from tests.ksql.cases import Case
from tests.ksql.planning import PlannedCase, planned


def differences(case: Case, recorded: dict[str, Any]) -> list[str]:
    """What is different in the plans of a case; nothing where all is as recorded."""
    try:
        found = planned(case)
    except SqlError as error:
        return [f"{error.code}: {error.message}"]
    different: list[str] = []
    expected = [plan_from_json(each) for each in recorded["statements"]]
    # Through JSON and back: what is written down is what ksqlDB would run.
    written = [plan_from_json(plan_as_json(each)) for each in found.plans]
    for ours, theirs in zip(written, expected, strict=False):
        different += _statement(ours, theirs)
    if len(found.plans) != len(expected):
        different.append(f"{len(found.plans)} statements, not {len(expected)}")
    return different + _schemas(found, recorded["schemas"]) + _sources(found.catalog, recorded["post"]["sources"])


def _statement(ours: StatementPlan, theirs: StatementPlan) -> Iterator[str]:
    if ours.ddl_command != theirs.ddl_command:
        yield f"command: {ours.ddl_command} is not {theirs.ddl_command}"
    if ours.query_plan is None or theirs.query_plan is None:
        if ours.query_plan is not theirs.query_plan:
            yield f"query: {ours.query_plan} is not {theirs.query_plan}"
        return
    yield from _query(ours.query_plan, theirs.query_plan)


def _query(ours: QueryPlan, theirs: QueryPlan) -> Iterator[str]:
    for what in ("sink", "query_id"):
        if getattr(ours, what) != getattr(theirs, what):
            yield f"{what}: {getattr(ours, what)} is not {getattr(theirs, what)}"
    if set(ours.sources) != set(theirs.sources):
        yield f"sources: {ours.sources} are not {theirs.sources}"
    yield from _step(ours.physical_plan, theirs.physical_plan)


def _step(ours: s.Step, theirs: s.Step) -> Iterator[str]:
    if ours == theirs:
        return
    if type(ours) is not type(theirs):
        yield f"{'/'.join(ours.context)}: {type(ours).__name__} is not {type(theirs).__name__}"
        return
    for name in type(ours).__dataclass_fields__:
        if name not in {"source", "left_source", "right_source"} and getattr(ours, name) != getattr(theirs, name):
            yield f"{'/'.join(ours.context)}: {name} {getattr(ours, name)} is not {getattr(theirs, name)}"
    for mine, other in zip(s.inputs(ours), s.inputs(theirs), strict=True):
        yield from _step(mine, other)


def _sources(catalog: Catalog, recorded: list[dict[str, Any]]) -> list[str]:
    different = []
    for each in recorded:
        source = catalog.sources.get(each["name"])
        if source is None or str(source.schema) != each["schema"] or source.kind.value != each["type"]:
            different.append(f"source {each['name']}: {source and source.schema} is not {each['schema']}")
    return different


def _schemas(found: PlannedCase, recorded: dict[str, Any]) -> list[str]:
    ours = {
        f"{id_}.{name}": str(schema)
        for id_, query in found.queries.items()
        if query.sink is not None
        for name, schema in written_schemas(query.physical_plan, found.functions)
    }
    theirs = {name: each["schema"] for name, each in recorded.items()}
    # Of several queries only the last one is recorded.
    ids = {name.partition(".")[0] for name in theirs}
    return [
        f"schema {name}: {ours.get(name)} is not {theirs.get(name)}"
        for name in sorted({*ours, *theirs})
        if ours.get(name) != theirs.get(name) and name.partition(".")[0] in ids
    ]


def written_schemas(step: s.Step, functions: Registry) -> Iterator[tuple[str, Schema]]:
    """The schemas of topics and stores, by the names under which ksqlDB records them."""
    name = ".".join(step.context)
    below = [schema_of(each, functions) for each in s.inputs(step)]
    match step:
        case s.StreamSource() | s.WindowedStreamSource() | s.WindowedTableSource():
            yield name, step.source_schema
        case s.TableSource():
            yield name, step.source_schema
            yield f"{name}.Materialized", stored_source(step.source_schema)
        case s.StreamGroupBy() | s.StreamGroupByKey() | s.TableGroupBy() | s.TableSelect():
            yield name, schema_of(step, functions)
        case s.StreamAggregate() | s.StreamWindowedAggregate() | s.TableAggregate():
            yield f"{name}.Materialize", stored_aggregate(step, below[0], functions)
        case s.TableSelectKey():
            yield f"{name}.Materialize", schema_of(step, functions)
        case s.StreamStreamJoin():
            # A right join is a left join with the sides changed.
            first, second = reversed(below) if step.join_type is JoinKind.RIGHT else below
            yield name, first
            yield f"{name}.Left", first
            yield f"{name}.Right", second
        case s.StreamTableJoin():
            yield name, below[0]
            yield f"{name}.Left", below[0]
        case s.ForeignKeyTableTableJoin():
            yield name, schema_of(step, functions)
        case s.StreamSink() | s.TableSink():
            yield name, below[0]
    for each in s.inputs(step):
        yield from written_schemas(each, functions)
