"""The engine: it knows what there is, and does what statements say. Whoever runs queries is given from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from itertools import count
from typing import Any

from headrace.serde.registry import SchemaRegistry
from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.sources import Source
from headrace.sql.engine.answers import Done
from headrace.sql.engine.asserting import asserted
from headrace.sql.engine.describing import described_tables
from headrace.sql.engine.explaining import explained_plan, explained_push, explained_query
from headrace.sql.engine.insert_values import inserted
from headrace.sql.engine.knowledge import Knowledge
from headrace.sql.engine.places import mistakes_located
from headrace.sql.engine.ports import DryQueries, DryTopics, Journal, NoJournal, PersistentQuery, Queries, Topics
from headrace.sql.engine.query_names import check_names
from headrace.sql.engine.session import Session
from headrace.sql.engine.showing import shown_tables
from headrace.sql.engine.source_topics import prepare_topic
from headrace.sql.errors import SqlError
from headrace.sql.formats.dry_registry import DrySchemaRegistry
from headrace.sql.formats.registering import register_schemas
from headrace.sql.functions import builtin
from headrace.sql.functions.registry import Registry
from headrace.sql.planning import plans
from headrace.sql.planning.flow import Environment
from headrace.sql.planning.plans import QueryPlan, StatementPlan
from headrace.sql.planning.statements import Planner, applied
from headrace.sql.pull.plan import planned_pull, planned_transient
from headrace.sql.settings import check_set_by_statement, in_force
from headrace.sql.tree import statements as st


class SqlEngine:
    """Executes statements one after another.

    ``settings`` are those of all statements, by ksqlDB's names; a statement may be given more. An SqlError tells what
    is wrong with a statement; what was before it has been done, unless ``execute`` refused the whole text.
    """

    def __init__(
        self,
        topics: Topics,
        queries: Queries,
        *,
        functions: Registry | None = None,
        registry: SchemaRegistry | None = None,
        settings: Mapping[str, Any] | None = None,
        next_number: Callable[[], int | str] | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.catalog = Catalog()
        self.queries: dict[str, PersistentQuery] = {}
        self.functions = builtin() if functions is None else functions
        self.settings: dict[str, Any] = dict(settings or {})
        self.registry = registry
        self._topics = topics
        self._running = queries
        self._is_dry = isinstance(queries, DryQueries)
        self._next_number = next_number or count().__next__
        self._journal = NoJournal() if journal is None else journal

    def execute(self, text: str, session: Session | None = None) -> list[Done]:
        """Execute all statements of the text, or none: all of them are tried on a copy first."""
        session = session or Session()
        statements = session.parsed(text)
        self.try_all(statements, session)
        return [self.run(parsed, session) for parsed in statements]

    def try_all(self, statements: Sequence[st.Parsed], session: Session) -> None:
        """Find mistakes: execute the statements one after another, and change nothing. Questions are not answered."""
        tried, trial = self.copy(), session.copy()
        for parsed in statements:
            tried.run(parsed, trial)

    def copy(self) -> SqlEngine:
        """An engine that knows the same, and changes nothing outside itself."""
        numbers = count()
        tried = SqlEngine(
            DryTopics(self._topics),
            DryQueries(),
            functions=self.functions,
            registry=None if self.registry is None else DrySchemaRegistry(self.registry),
            settings=self.settings,
            next_number=lambda: f"tried_{next(numbers)}",
        )
        tried.catalog, tried.queries = self.catalog, dict(self.queries)
        return tried

    def run(self, parsed: st.Parsed, session: Session | None = None) -> Done:
        """Execute one statement in a session."""
        session = session or Session()
        with mistakes_located(parsed):
            return self._done(parsed, session, in_force(self.settings, session.settings))

    def _done(self, parsed: st.Parsed, session: Session, settings: dict[str, Any]) -> Done:
        match parsed.statement:
            case st.InsertValues() as statement:
                return self._insert(parsed, statement)
            case st.ControlQuery() as statement:
                return self._control(parsed, statement)
            case st.SetProperty(name, value, for_system=True):
                check_set_by_statement(name, value)
                self.settings = in_force(self.settings, {name: value})
                return Done(parsed, f"{name} is {value} for everybody")
            case st.SetProperty() | st.UnsetProperty() | st.Define() | st.Undefine() | st.Spool() as statement:
                return Done(parsed, session.keep(statement) or "")
            case st.Show() as statement:
                return Done(parsed, "", tables=shown_tables(statement, self._knowledge(session)))
            case st.Describe() as statement:
                return Done(parsed, "", tables=described_tables(statement, self._knowledge(session)))
            case st.Select(query) if self._is_dry:
                environment = self._environment(settings)
                if planned_transient(query, self.catalog, environment) is None:
                    planned_pull(query, self.catalog, self._plans, environment)
                return Done(parsed, "")
            case st.Explain(subject):
                return self._explained(parsed, subject, session, settings)
            case st.AssertTopic() | st.AssertSchema() as statement:
                return Done(parsed, "" if self._is_dry else asserted(statement, self._knowledge(session)))
            case _:
                return self._planned(parsed, settings)

    def _knowledge(self, session: Session) -> Knowledge:
        return Knowledge(
            self.catalog,
            self.queries,
            self.functions,
            self.settings,
            session,
            self._topics,
            self._running,
            self.registry,
        )

    def _explained(
        self, parsed: st.Parsed, subject: st.Statement | str, session: Session, settings: dict[str, Any]
    ) -> Done:
        known = self._knowledge(session)
        if isinstance(subject, str):
            return Done(parsed, "", tables=explained_query(subject, known))
        if isinstance(subject, st.Select):
            pushed = explained_push(subject.query, self.catalog, self._environment(settings))
            return Done(parsed, "", tables=explained_plan(pushed, known, settings))
        plan = self.copy().plan(replace(parsed, statement=subject), settings)
        if plan.query_plan is None:
            raise SqlError("explain.nothing", "only what has a query can be explained")
        return Done(parsed, "", plan, explained_plan(plan.query_plan, known, settings))

    # What has a plan

    def plan(self, parsed: st.Parsed, settings: Mapping[str, Any] | None = None) -> StatementPlan:
        """What the statement would do, under these settings; nothing is done."""
        environment = self._environment(self.settings if settings is None else settings)
        return Planner(self.catalog, environment, self._next_number, self._plans).plan(parsed.statement, parsed.text)

    @property
    def _plans(self) -> dict[str, QueryPlan]:
        return {id_: query.plan for id_, query in self.queries.items()}

    def _environment(self, settings: Mapping[str, Any]) -> Environment:
        return Environment(self.functions, settings, self._topics.partitions, self.registry)

    def _planned(self, parsed: st.Parsed, settings: dict[str, Any]) -> Done:
        plan = self.plan(parsed, settings)
        if plan.query_plan is not None:
            check_names(plan.query_plan, self.functions, self.registry, settings)
        unused = self._topic_to_delete(parsed.statement, plan)
        self._prepare_topics(parsed.statement, plan)
        changes = plan.ddl_command is not None or plan.query_plan is not None
        with self._journal.planned(plan, settings, parsed.script) if changes else nullcontext():
            self.apply(plan, settings)
        if unused is not None:
            self._topics.delete(unused)
        return Done(parsed, _message(plan) + self._told_of_loops(plan), plan)

    def _told_of_loops(self, plan: StatementPlan) -> str:
        """As in ksqlDB, a query may read what it writes; who did not mean it would wait for its end."""
        query = plan.query_plan
        if query is None or not self._feeds_itself(query):
            return ""
        return (
            f". It reads what it writes: rows come again and again, unless its WHERE stops them. "
            f"TERMINATE {query.query_id}; ends it."
        )

    def _feeds_itself(self, query: QueryPlan) -> bool:
        """Whether what it writes comes back to it, by way of other queries too."""
        fed: set[str] = set()
        due = [query]
        while due:
            written = due.pop().topic_written
            if written is not None and written not in fed:
                fed.add(written)
                due += [each for each in self._plans.values() if written in each.topics_read]
        return not fed.isdisjoint(query.topics_read)

    def _prepare_topics(self, statement: st.Statement, plan: StatementPlan) -> None:
        if isinstance(statement, st.CreateSource | st.CreateAs) and isinstance(plan.ddl_command, plans.CreateSource):
            default = None
            if isinstance(statement, st.CreateAs) and plan.query_plan is not None:
                default = self._topics.partitions(self.catalog.source(plan.query_plan.sources[0]).topic)
            source = plan.ddl_command.source
            prepare_topic(statement, source, self._topics, default)
            register_schemas(source, self.registry, is_sink=isinstance(statement, st.CreateAs))

    def _topic_to_delete(self, statement: st.Statement, plan: StatementPlan) -> str | None:
        if isinstance(statement, st.DropSource) and statement.delete_topic and plan.ddl_command is not None:
            return self.catalog.source(statement.name).topic
        return None

    def apply(self, plan: StatementPlan, settings: Mapping[str, Any]) -> None:
        """Do what a plan says: change the catalog, start its query, stop the query of a source that goes.

        What is known goes first, so that no failure to start or stop leaves it behind the journal. Where this was
        interrupted it can be done again.
        """
        self.catalog = applied(self.catalog, plan)
        if plan.query_plan is not None:
            query = PersistentQuery(plan.query_plan, plan.statement_text, settings)
            self.queries[query.id] = query
            self._running.start(query)
        if isinstance(plan.ddl_command, plans.DropSource):
            self.control(st.QueryAction.TERMINATE, self._writers(plan.ddl_command.source_name))

    def _writers(self, sink: str) -> list[str]:
        return [id_ for id_, query in self.queries.items() if query.plan.sink == sink]

    # What has none

    def _insert(self, parsed: st.Parsed, statement: st.InsertValues) -> Done:
        source = self.catalog.source(statement.target)
        record = inserted(statement, source, self.functions, self.registry)
        self._topics.append(source.topic, record, *self._journal.beside(parsed))
        return Done(parsed, self._inserted_into(source))

    def _inserted_into(self, source: Source) -> str:
        """As in ksqlDB, rows go to the topic of a table, even where a query makes the table and does not read them."""
        writer = next(iter(self._writers(source.name)), None)
        if writer is None or source.kind is not st.SourceKind.TABLE:
            return f"1 row into {source.name}"
        return (
            f"1 row into the topic {source.topic}, and no further: the table {source.name} is what {writer} computes. "
            "Insert into what that query reads."
        )

    def _control(self, parsed: st.Parsed, statement: st.ControlQuery) -> Done:
        ids = [query.id for query in self._queries_meant(statement)]
        with self._journal.controlled(statement.action, ids, parsed):
            self.control(statement.action, ids)
        return Done(parsed, f"{statement.action.value} {statement.query_id or 'ALL'}")

    def control(self, action: st.QueryAction, ids: Sequence[str]) -> None:
        """Stop queries for good, or let them stand still, or go on: all that there are, whatever one of them raises."""
        act = {
            st.QueryAction.TERMINATE: self._stop,
            st.QueryAction.PAUSE: self._running.pause,
            st.QueryAction.RESUME: self._running.resume,
        }[action]
        with ExitStack() as acting:
            for id_ in reversed(ids):
                if id_ in self.queries:
                    acting.callback(act, self.queries[id_])

    def _stop(self, query: PersistentQuery) -> None:
        """A query that cannot be stopped well is none any more; one that an interrupt left is stopped again."""
        try:
            self._running.stop(query)
        except Exception:
            del self.queries[query.id]
            raise
        del self.queries[query.id]

    def _queries_meant(self, statement: st.ControlQuery) -> list[PersistentQuery]:
        if statement.query_id is None:
            return list(self.queries.values())
        if statement.query_id not in self.queries:
            message = f"there is no query {statement.query_id}"
            raise SqlError("name.query", message, hint="SHOW QUERIES; lists those there are.")
        return [self.queries[statement.query_id]]


def _message(plan: StatementPlan) -> str:
    match plan.ddl_command:
        case plans.CreateSource(source) if plan.query_plan is not None:
            return f"{source.kind.value.capitalize()} {source.name} created, filled by {plan.query_plan.query_id}"
        case plans.CreateSource(source):
            return f"{source.kind.value.capitalize()} {source.name} created"
        case plans.DropSource(name):
            return f"{name} dropped"
        case plans.AlterSource(name):
            return f"{name} altered"
        case plans.RegisterType(name):
            return f"Type {name} registered"
        case plans.DropType(name):
            return f"Type {name} dropped"
        case None:
            return "Nothing to do" if plan.query_plan is None else f"Query {plan.query_plan.query_id} started"
