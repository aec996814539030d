"""From statements to what they do: changes of the catalog, and queries that keep running."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from headrace.sql.analysis.query import Analysis, analysed
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.creating import declared_source
from headrace.sql.catalog.replacing import ExistsError, check_new_source, refusal_of
from headrace.sql.catalog.sources import Source
from headrace.sql.errors import SqlError
from headrace.sql.formats.inference import with_registered_columns, with_schema_names
from headrace.sql.planning import plans
from headrace.sql.planning.altering import altered_source, dropped_source, new_type
from headrace.sql.planning.flow import Environment
from headrace.sql.planning.planner import result_of
from headrace.sql.planning.plans import QueryPlan, StatementPlan
from headrace.sql.planning.sinks import check_result, check_target, new_sink, written
from headrace.sql.planning.steps import Step
from headrace.sql.planning.upgrade import check_replacement
from headrace.sql.schema import Part
from headrace.sql.tree import statements as st
from headrace.sql.tree.expressions import Column
from headrace.sql.tree.queries import Emit, Query, Selected
from headrace.sql.tree.queries import Source as QuerySource

_QUERY_ID = re.compile(r"[A-Za-z0-9_]+")
_OWN_IDS = ("INSERTQUERY_", "CTAS_", "CSAS_", "CST_")


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans statements against a catalog; ``queries`` are those that run, by their ids.

    ``next_number`` gives the number of a new query; it is asked only when one is made.
    """

    catalog: Catalog
    environment: Environment
    next_number: Callable[[], int | str]
    queries: Mapping[str, QueryPlan] = field(default_factory=dict)

    def plan(self, statement: st.Statement, text: str = "") -> StatementPlan:
        """What the statement does; an error for one that cannot be done."""
        match statement:
            case st.CreateSource():
                return self._create_source(statement, text)
            case st.CreateAs():
                return self._create_as(statement, text)
            case st.InsertInto():
                return self._insert_into(statement, text)
            case st.DropSource():
                dropped = dropped_source(statement, self.catalog, self.queries)
                return StatementPlan(text, None if dropped is None else plans.DropSource(dropped))
            case st.AlterSource():
                return StatementPlan(text, altered_source(statement, self.catalog, self.queries))
            case st.CreateType():
                return StatementPlan(text, new_type(statement, self.catalog))
            case st.DropType():
                return self._drop_type(statement, text)
            case _:
                raise SqlError("statement.not-planned", "this statement has no plan")

    def _create_source(self, statement: st.CreateSource, text: str) -> StatementPlan:
        if statement.if_not_exists and statement.name in self.catalog.sources:
            return StatementPlan(text)
        settings = self.environment.settings
        completed = with_registered_columns(statement, self.environment.registry, settings)
        source = declared_source(completed, self.catalog, settings)
        check_new_source(source, self.catalog)
        command = plans.CreateSource(source, statement.or_replace)
        if not statement.is_read_only or statement.kind is not st.SourceKind.TABLE:
            return StatementPlan(text, command)
        return StatementPlan(text, command, self._materialised(source))

    def _materialised(self, source: Source) -> QueryPlan:
        """A SOURCE TABLE is read into a store, so that it can be asked."""
        columns = tuple(Selected(Column(each.name), each.name) for each in source.schema if each.part is not Part.KEY)
        query = Query(columns, QuerySource(source.name), emit=Emit.CHANGES)
        found = analysed(query, self.catalog.with_source(source), self.environment.functions, is_persistent=False)
        step = result_of(found, self.environment).step
        return QueryPlan((source.name,), None, step, f"CST_{source.name.upper()}_{self.next_number()}")

    def _create_as(self, statement: st.CreateAs, text: str) -> StatementPlan:
        old = self.catalog.sources.get(statement.name)
        if old is not None and statement.if_not_exists:
            return StatementPlan(text)
        query = analysed(statement.query, self.catalog, self.environment.functions, is_persistent=True)
        flow = result_of(query, self.environment, statement.name)
        sink = new_sink(statement, flow, query, self.environment)
        named = with_schema_names(statement, sink, self.environment.registry)
        if named != statement:
            sink = new_sink(named, flow, query, self.environment)
        step = written(flow, sink)
        if old is not None and not statement.or_replace:
            raise ExistsError(old, refusal_of(lambda: self._replaced_query(sink, step)))
        plan = QueryPlan(_names(query), sink.name, step, self._replaced_query(sink, step) or self._sink_query_id(sink))
        return StatementPlan(text, plans.CreateSource(sink, statement.or_replace), plan)

    def _replaced_query(self, sink: Source, step: Step) -> str | None:
        """The id of the query that the new one takes the place of: it keeps the id, the position and the state."""
        check_new_source(sink, self.catalog)
        writers = {id_: plan for id_, plan in self.queries.items() if plan.sink == sink.name}
        if len(writers) > 1:
            message = f"{sink.name} cannot be replaced: several queries write to it, {', '.join(sorted(writers))}"
            raise SqlError("ddl.replace", message)
        for id_, plan in writers.items():
            check_replacement(plan.physical_plan, step)
            return id_
        return None

    def _sink_query_id(self, sink: Source) -> str:
        prefix = "CTAS" if sink.kind is st.SourceKind.TABLE else "CSAS"
        return f"{prefix}_{sink.name.upper()}_{self.next_number()}"

    def _insert_into(self, statement: st.InsertInto, text: str) -> StatementPlan:
        target = self.catalog.source(statement.target)
        check_target(target)
        query = analysed(statement.query, self.catalog, self.environment.functions, is_persistent=True)
        flow = result_of(query, self.environment, target.name, target.schema)
        check_result(flow, target)
        id_ = self._insert_query_id(statement)
        return StatementPlan(text, None, QueryPlan(_names(query), target.name, written(flow, target), id_))

    def _insert_query_id(self, statement: st.InsertInto) -> str:
        said = next((value for name, value in statement.properties if name.upper() == "QUERY_ID"), None)
        if said is None:
            return f"INSERTQUERY_{self.next_number()}"
        id_ = str(getattr(said, "value", "")).upper()
        if not _QUERY_ID.fullmatch(id_) or id_.startswith(_OWN_IDS):
            message = (
                f"{id_} cannot be the id of a query: letters, digits and _, and none of {', '.join(_OWN_IDS)} first"
            )
            raise SqlError("insert.query-id", message, offset=said.at)
        if id_ in self.queries:
            raise SqlError("insert.query-id", f"there is a query {id_} already", offset=said.at)
        return id_

    def _drop_type(self, statement: st.DropType, text: str) -> StatementPlan:
        if statement.name in self.catalog.types:
            return StatementPlan(text, plans.DropType(statement.name))
        if statement.if_exists:
            return StatementPlan(text)
        raise SqlError("name.type", f"there is no type {statement.name}")


def _names(query: Analysis) -> tuple[str, ...]:
    return tuple(each.source.name for each in query.scope.sources)


def applied(catalog: Catalog, plan: StatementPlan) -> Catalog:
    """The catalog after the statement, also where it has been applied before, or has nothing left to change."""
    match plan.ddl_command:
        case plans.CreateSource(source):
            return catalog.with_source(source)
        case plans.DropSource(name):
            return catalog.without_source(name)
        case plans.AlterSource(name, _, columns):
            return catalog.with_columns(name, columns)
        case plans.RegisterType(name, type_):
            return catalog.with_type(name, type_)
        case plans.DropType(name):
            return catalog.without_type(name)
        case None:
            return catalog
