"""Statements planned one after another, with a few functions of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import TypeVar

import pytest

from headrace.serde.registry import SchemaRegistry
from headrace.sql import SqlError, parse
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.functions.declare import aggregate, declared_in, scalar, table
from headrace.sql.functions.registry import Registry
from headrace.sql.planning.flow import Environment
from headrace.sql.planning.plans import CreateSource, QueryPlan, StatementPlan
from headrace.sql.planning.statements import Planner, applied
from headrace.sql.planning.steps import Step, inputs


@aggregate("COUNT", "(T) -> BIGINT", stored_as="BIGINT")
class Count:
    """Can take back a row, and merge."""

    def undo(self, value: object, state: int) -> int:
        return state - 1

    def merge(self, left: int, right: int) -> int:
        return left + right


@aggregate("LATEST", "(T, INTEGER n const) -> ARRAY<T>", stored_as="ARRAY<STRUCT<SEQ BIGINT, VAL T>>")
class Latest:
    """Can neither take back a row nor merge; its state is not its result."""


@scalar("LEN", "(STRING) -> INTEGER")
def length(text: str) -> int:
    return len(text)


@scalar("AS_VALUE", "(T) -> T")
def as_value(value: object) -> object:
    return value


@table("EXPLODE", "(ARRAY<T>) -> T")
def explode(items: list[object]) -> list[object]:
    return items


S = TypeVar("S")
FUNCTIONS = Registry(declared_in(globals()))
SOURCES = """
CREATE STREAM s (id INT KEY, name STRING, amount BIGINT, tags ARRAY<STRING>, place STRUCT<x INT, y STRING>)
    WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM r (id INT KEY, name STRING, length INT) WITH (KAFKA_TOPIC='r', VALUE_FORMAT='JSON');
CREATE TABLE t (id INT PRIMARY KEY, name STRING, other INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
CREATE TABLE u (id INT PRIMARY KEY, place STRING) WITH (KAFKA_TOPIC='u', VALUE_FORMAT='JSON');
"""


class Session:
    """A catalog and the queries that run, changed by each statement."""

    def __init__(
        self,
        text: str = SOURCES,
        *,
        settings: Mapping[str, str] | None = None,
        registry: SchemaRegistry | None = None,
        functions: Registry = FUNCTIONS,
        **partitions: int,
    ) -> None:
        self.catalog = Catalog()
        self.queries: dict[str, QueryPlan] = {}
        self.environment = Environment(functions, settings or {}, partitions.get, registry)
        self._numbers = count()
        self.run(text)

    def run(self, text: str) -> StatementPlan:
        """Plan and apply all statements; the plan of the last one."""
        plan = StatementPlan("")
        for parsed in parse(text):
            planner = Planner(self.catalog, self.environment, lambda: next(self._numbers), self.queries)
            plan = planner.plan(parsed.statement, parsed.text)
            self.catalog = applied(self.catalog, plan)
            if plan.query_plan is not None:
                self.queries[plan.query_plan.query_id] = plan.query_plan
        return plan

    def query(self, text: str) -> QueryPlan:
        """The query that the last statement starts."""
        plan = self.run(text).query_plan
        assert plan is not None
        return plan

    def sink(self, text: str) -> str:
        """The columns of what the last statement makes."""
        command = self.run(text).ddl_command
        assert isinstance(command, CreateSource)
        return str(command.source.schema)

    def refused(self, text: str) -> SqlError:
        """What is wrong with the last statement."""
        with pytest.raises(SqlError) as caught:
            self.run(text)
        return caught.value


def step_of(query: QueryPlan, kind: type[S]) -> S:
    """The first step of a kind, from the sink down, left before right."""
    return next(step for step in _steps(query.physical_plan) if isinstance(step, kind))


def _steps(step: Step) -> Iterator[Step]:
    yield step
    for below in inputs(step):
        yield from _steps(below)


def outline(step: Step) -> list[str]:
    """The steps from the sink down, left before right."""
    return [f"{type(each).__name__} {'/'.join(each.context)}" for each in _steps(step)]
