"""One REST case: its statements, its records, and the answers of its queries."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.dsl.builder import StreamsBuilder
from headrace.sql import SqlError, parse
from headrace.sql.answers import plain_row
from headrace.sql.build.context import BuildContext
from headrace.sql.engine.session import Session
from headrace.sql.functions.registry import Registry
from headrace.sql.planning.flow import Environment
from headrace.sql.planning.plans import QueryPlan
from headrace.sql.processing_log import ProcessingLog
from headrace.sql.pull.plan import planned_pull, planned_transient
from headrace.sql.pull.run import PullAnswers
from headrace.sql.push.plan import PushPlan
from headrace.sql.schema import Schema
from headrace.sql.tree.queries import Emit, Query
from headrace.sql.tree.statements import InsertValues, Parsed, Select
from tests.ksql.cases import Case
from tests.ksql.declaring import declared_partitions, said_partitions
from tests.ksql.errors import ErrorRules
from tests.ksql.outcomes import PASSED, Kind, Outcome
from tests.ksql.registered import declared_registry
from tests.ksql.rest.live import LiveQueries
from tests.ksql.rest.messages import as_messages
from tests.ksql.rest.responses import compared
from tests.ksql.running import CaseRun

SERVER = {
    "ksql.query.pull.table.scan.enabled": True,
    "ksql.query.push.v2.enabled": True,
    "ksql.headers.columns.enabled": True,
}
LIMITED, COMPLETE = {"finalMessage": "Limit Reached"}, {"finalMessage": "Query Completed"}


@dataclass(frozen=True)
class Answer:
    """What a query answered: rows, each with whether it tells of one that is gone."""

    query_id: str
    columns: Schema
    rows: list[tuple[list[Any], bool]]
    final: dict[str, Any] | None

    @property
    def lines(self) -> list[dict[str, Any]]:
        """As JSON."""
        header = {"header": {"schema": str(self.columns), "queryId": self.query_id}}
        rows = [
            {"row": {"columns": plain_row(row, self.columns.columns), **({"tombstone": True} if is_gone else {})}}
            for row, is_gone in self.rows
        ]
        return [header, *rows, *([] if self.final is None else [self.final])]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """As protobuf."""
        return as_messages(self.columns.columns, [row for row, _ in self.rows], self.final)


class RestRun(CaseRun):
    """A case that is run once."""

    def __init__(self, case: Case, functions: Registry, rules: ErrorRules) -> None:
        super().__init__(case, functions, rules)
        self.engine.settings |= SERVER
        self._settings = {**self.engine.settings, **case.properties}
        self._responses: list[dict[str, Any]] = []

    def outcome(self) -> Outcome:
        """How the case ends; what nobody expected is a crash."""
        expected = self.case.expected_error
        live: list[LiveQueries] = []
        try:
            self._run(live)
        except SqlError as error:
            if expected is not None:
                return self._rules.compared(expected, error)
            return Outcome(Kind.WRONG_ERROR, ("no error",), (f"{error.code}: {error}",))
        except Exception:
            return Outcome(Kind.CRASHED, (), (traceback.format_exc(),))
        finally:
            for each in live:
                each.close()
        if expected is not None:
            return Outcome(Kind.NOT_RAISED, (str(expected.get("message")),), ("no error",))
        outcome = self._outputs()
        return compared(self.case.node["responses"], self._responses) if outcome.passed else outcome

    def _run(self, opened: list[LiveQueries]) -> None:
        first = next(
            (at for at, text in enumerate(self.case.statements) if text.startswith("SELECT ")),
            len(self.case.statements),
        )
        statements = parse("\n".join(self.case.statements[:first]))
        self._execute_all(statements)
        queries = [parse(text)[0] for text in self.case.statements[first:]]
        self._put_inputs()
        live = LiveQueries(self.topics, self.engine, [record["topic"] for record in self.case.node["inputs"]])
        opened.append(live)
        for query in self.queries.started.values():
            live.run(query)
        answers = []
        for parsed in queries:
            assert isinstance(parsed.statement, Select)
            try:
                answers.append(self._answer(parsed.statement.query, live))
            except SqlError as error:
                error.locate(parsed.text)
                raise
        self._responses += [{"query": answer.lines} for answer in answers]
        if self.case.node.get("testPullWithProtoFormat"):
            self._responses += [{"queryProto": answer.messages} for answer in answers]

    def _execute_all(self, statements: list[Parsed]) -> None:
        self.topics.counts = dict(declared_partitions(self.case, statements)) | dict(said_partitions(statements))
        self.registry = self.engine.registry = declared_registry(self.case, statements)
        for parsed in statements:
            self.engine.run(parsed, Session(dict(self.case.properties)))
            if not isinstance(parsed.statement, InsertValues):
                self._responses.append({"admin": {"@type": "currentStatus"}})

    def _outputs(self) -> Outcome:
        """Each topic has at least the records that are expected, in their order."""
        topics: dict[str, list[dict[str, Any]]] = {}
        for record in self.case.node["outputs"]:
            topics.setdefault(record["topic"], []).append(record)
        for topic, expected in topics.items():
            self.topics.records[topic] = self.topics.records[topic][: len(expected)]
            outcome = self._compared(topic, expected)
            if not outcome.passed:
                return outcome
        return PASSED

    # Queries

    def _answer(self, query: Query, live: LiveQueries) -> Answer:
        plans = {id_: each.plan for id_, each in self.engine.queries.items()}
        environment = Environment(self.engine.functions, self._settings, self.topics.partitions, self.registry)
        transient = planned_transient(query, self.engine.catalog, environment)
        if transient is not None:
            return self._pushed(query, transient, live)
        plan = planned_pull(query, self.engine.catalog, plans, environment)
        context = BuildContext(
            plan.query_id,
            StreamsBuilder(),
            self.engine.functions,
            ProcessingLog(),
            self.registry,
            self._settings,
        )
        rows = PullAnswers(plan, context).of(live.store(plan.query_id, plan.rows.store, plan.source))
        return Answer("query_1", plan.columns, [(row, False) for row in rows], None)

    def _pushed(self, query: Query, plan: PushPlan, live: LiveQueries) -> Answer:
        plans = {id_: each.plan for id_, each in self.engine.queries.items()}
        prefix = "SCALABLE_PUSH_QUERY_1" if _is_tap(query, plans, self._settings) else "transient_1"
        found = [
            (plan.gone(key) if row is None else row, row is None)
            for key, row in live.pushed(plan, self._settings)
            if row is not None or plan.is_table
        ]
        if plan.limit is not None and len(found) >= plan.limit:
            return Answer(prefix, plan.columns, found[: plan.limit], LIMITED)
        return Answer(prefix, plan.columns, found, COMPLETE if query.emit is None else None)


def _is_tap(query: Query, queries: Mapping[str, QueryPlan], settings: Mapping[str, Any]) -> bool:
    """Whether the rows can be taken from what one running query writes: from now on, filtered and projected only."""
    if str(settings.get("ksql.query.push.v2.enabled", False)).lower() != "true":
        return False
    starts_now = settings.get("auto.offset.reset", "latest") == "latest"
    writers = [plan for plan in queries.values() if plan.sink == query.source.name]
    others = (query.joins, query.window, query.group_by, query.partition_by, query.having)
    return query.emit is Emit.CHANGES and starts_now and len(writers) == 1 and not any(others)
