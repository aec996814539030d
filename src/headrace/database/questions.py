"""Pull queries that were asked before: what is known of a table, and of a question about it, is not found out again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.dsl.builder import StreamsBuilder
from headrace.sql.build.context import BuildContext
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.engine.engine import SqlEngine
from headrace.sql.engine.ports import PersistentQuery
from headrace.sql.functions.registry import Registry
from headrace.sql.planning.flow import Environment
from headrace.sql.planning.plans import QueryPlan
from headrace.sql.processing_log import ProcessingLog
from headrace.sql.pull.plan import PullPlan, kept_by, planned_pull
from headrace.sql.pull.run import Change, PullAnswers, changes_of
from headrace.sql.pull.stores import KeptRows
from headrace.sql.tree.queries import Query

_REMEMBERED = 256


@dataclass(frozen=True, slots=True)
class Question:
    """A question that was planned, and what it was planned from: it holds as long as these are the same."""

    plan: PullPlan
    answers: PullAnswers
    query: PersistentQuery
    catalog: Catalog
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Table:
    """What every question about a table needs."""

    plan: QueryPlan
    rows: KeptRows | None
    settings: Mapping[str, Any]
    changes: Sequence[Change] = ()


class Questions:
    """The questions that one database was asked last."""

    def __init__(self, engine: SqlEngine) -> None:
        self._engine = engine
        self._asked: OrderedDict[str, Question] = OrderedDict()
        self._tables: dict[str, _Table] = {}

    def question(self, text: str, query: Query, environment: Environment) -> Question:
        """The question that a statement asks; an SqlError where it cannot be answered."""
        found = self._asked.get(text)
        if found is None or not self._holds(found, environment):
            found = self._asked[text] = self._planned(query, environment)
            if len(self._asked) > _REMEMBERED:
                self._asked.popitem(last=False)
        self._asked.move_to_end(text)
        return found

    def _holds(self, question: Question, environment: Environment) -> bool:
        engine = self._engine
        is_same_query = engine.queries.get(question.plan.query_id) is question.query
        return is_same_query and engine.catalog is question.catalog and question.settings == environment.settings

    def _planned(self, query: Query, environment: Environment) -> Question:
        engine = self._engine
        plans = {id_: each.plan for id_, each in engine.queries.items()}
        plan = planned_pull(query, engine.catalog, plans, environment, self._kept)
        context = self._context(plan.query_id, environment)
        answers = PullAnswers(plan, context, self._changes(plan, context))
        return Question(plan, answers, engine.queries[plan.query_id], engine.catalog, dict(environment.settings))

    def _kept(self, plan: QueryPlan, functions: Registry) -> KeptRows | None:
        known = self._tables.get(plan.query_id)
        return known.rows if known is not None and known.plan is plan else kept_by(plan, functions)

    def _changes(self, plan: PullPlan, context: BuildContext) -> Sequence[Change]:
        of_query = self._engine.queries[plan.query_id].plan
        known = self._tables.get(plan.query_id)
        if known is None or known.plan is not of_query or known.settings != context.settings:
            changes = changes_of(plan.rows, context)
            known = self._tables[plan.query_id] = _Table(of_query, plan.rows, dict(context.settings), changes)
        return known.changes

    def _context(self, query_id: str, environment: Environment) -> BuildContext:
        engine = self._engine
        return BuildContext(
            query_id, StreamsBuilder(), engine.functions, ProcessingLog(), engine.registry, environment.settings
        )
