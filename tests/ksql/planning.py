"""Cases planned, not run: each statement against the catalog that those before it left."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from headrace.sql import parse
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.errors import SqlError
from headrace.sql.formats.registering import register_schemas
from headrace.sql.functions import Registry
from headrace.sql.planning.flow import Environment
from headrace.sql.planning.plans import CreateSource as NewSource
from headrace.sql.planning.plans import QueryPlan, StatementPlan
from headrace.sql.planning.statements import Planner, applied
from headrace.sql.tree.statements import CreateAs, InsertValues
from tests.ksql.cases import Case
from tests.ksql.declaring import declared_partitions
from tests.ksql.functions import with_test_functions
from tests.ksql.registered import declared_registry


@dataclass
class PlannedCase:
    """What the statements of a case come to."""

    plans: list[StatementPlan] = field(default_factory=list)
    catalog: Catalog = field(default_factory=Catalog)
    queries: dict[str, QueryPlan] = field(default_factory=dict)
    functions: Registry = field(default_factory=with_test_functions)


def planned(case: Case, found: PlannedCase | None = None) -> PlannedCase:
    """Plan all statements; ``found`` has what was planned before an error."""
    found = found or PlannedCase()
    statements = parse(case.text)
    partitions = dict(declared_partitions(case, statements))
    registry = declared_registry(case, statements)
    environment = Environment(found.functions, case.properties, partitions.get, registry)
    numbers = count()
    for parsed in statements:
        if isinstance(parsed.statement, InsertValues):
            continue
        planner = Planner(found.catalog, environment, lambda: next(numbers), found.queries)
        try:
            plan = planner.plan(parsed.statement, parsed.text)
            if isinstance(plan.ddl_command, NewSource):
                is_sink = isinstance(parsed.statement, CreateAs)
                register_schemas(plan.ddl_command.source, registry, is_sink=is_sink)
        except SqlError as error:
            error.locate(case.text, slice(parsed.start, parsed.start + len(parsed.text)))
            raise
        found.catalog = applied(found.catalog, plan)
        found.plans.append(plan)
        if plan.query_plan is not None:
            found.queries[plan.query_plan.query_id] = plan.query_plan
    return found
