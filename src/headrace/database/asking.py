"""Queries that are answered: pull queries from what is committed, push queries as rows come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.broker.port import Broker
from headrace.database.answers import Answer, Row
from headrace.database.names import Names
from headrace.database.pushing import PushRows, Told
from headrace.database.queries import RunningQueries
from headrace.database.questions import Questions
from headrace.sql.build.queries import streams_config
from headrace.sql.engine.engine import SqlEngine
from headrace.sql.planning.flow import Environment
from headrace.sql.processing_log import ProcessingLog
from headrace.sql.pull.plan import planned_transient
from headrace.sql.push.plan import PushPlan
from headrace.sql.push.run import push_topology
from headrace.sql.settings import OFFSET_RESET
from headrace.sql.tree.queries import Query

_FROM_THE_START = dict.fromkeys(OFFSET_RESET, "earliest")


class Asking:
    """Answers the queries of one database."""

    def __init__(self, engine: SqlEngine, queries: RunningQueries, broker: Broker, names: Names) -> None:
        self._engine, self._queries, self._broker, self._names = engine, queries, broker, names
        self._questions = Questions(engine)

    def answer(self, text: str, query: Query, settings: Mapping[str, Any]) -> Answer:
        """The answer to the query that is written in ``text``; an SqlError where there is none."""
        environment = Environment(self._engine.functions, settings, self._broker.topics().get, self._engine.registry)
        plan = planned_transient(query, self._engine.catalog, environment)
        if plan is None:
            question = self._questions.question(text, query, environment)
            store = self._queries.store(question.query, question.plan.rows.store)
            return Answer(question.plan.columns.columns, [Row(row) for row in question.answers.of(store)])
        if query.emit is not None:
            return self._pushed(plan, settings, ends=False)
        with self._pushed(plan, {**settings, **_FROM_THE_START}, ends=True) as answer:
            return Answer(answer.columns, list(answer.raw()))

    def _pushed(self, plan: PushPlan, settings: Mapping[str, Any], *, ends: bool) -> Answer:
        application = self._names.new_transient(plan.sources[0])
        told, registry = Told(plan), self._engine.registry
        topology = push_topology(plan, application, told, self._engine.functions, ProcessingLog(), registry, settings)
        config = {
            **self._broker.config.for_applications(),
            **streams_config(application, settings),
            "application.id": application,
        }
        rows = PushRows(told, topology, config, self._broker, limit=plan.limit, ends=ends)
        return Answer(plan.columns.columns, live=rows)
