"""``Database``: SQL on a broker, for programs."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from headrace.broker import DEFAULT_BROKER, BrokerConfig, embedded_directory, open_broker
from headrace.broker.config import exactly_once
from headrace.broker.leases import label_of
from headrace.broker.port import Broker, Owner
from headrace.config import StreamsConfig, as_dict
from headrace.database.answers import Answer
from headrace.database.asking import Asking
from headrace.database.forgetting import forget_orphans
from headrace.database.journal import Entry, Journal
from headrace.database.names import Names
from headrace.database.positions import Starts
from headrace.database.printing import PRINTED, PrintedRecords
from headrace.database.queries import RunningQueries
from headrace.database.scripts import check_inserts, edits_told, take_executed, text_of_file
from headrace.database.topics import BrokerTopics
from headrace.database.upkeep import Upkeep
from headrace.engines import check_engine
from headrace.errors import ArgumentError, FencedError, IllegalStateError, OperatorTypeError, user_line
from headrace.near_names import did_you_mean
from headrace.serde.registry import SchemaRegistry
from headrace.sql.engine.answers import Done
from headrace.sql.engine.engine import SqlEngine
from headrace.sql.engine.places import mistakes_located
from headrace.sql.engine.ports import PersistentQuery
from headrace.sql.engine.session import Session
from headrace.sql.formats.registries import registry_from
from headrace.sql.functions import builtin
from headrace.sql.functions.registry import Registry
from headrace.sql.planning.plans import StatementPlan
from headrace.sql.settings import check_settings, in_force
from headrace.sql.tree import statements as st

_JOURNALED = (
    st.CreateSource,
    st.CreateAs,
    st.InsertInto,
    st.DropSource,
    st.AlterSource,
    st.CreateType,
    st.DropType,
    st.ControlQuery,
)
_ONCE = (*_JOURNALED, st.InsertValues)
"""Statements of a script that are not executed again when the script is."""
_TRIES = 3
_NOT_TRIED = (st.Print, st.Spool)
"""Statements about what is there when they are executed, and nothing that others could need."""
Before = Callable[[st.Parsed], None]


class Database:
    """The streams, tables and queries on one broker. A context manager; several threads may use it.

    ``settings`` are ksqlDB's, by their names; ``session`` has what SET and DEFINE add to them. What any process
    executes, all see. Persistent queries run in the one process that came first, on Spark or, with ``engine="local"``,
    in the process itself; when it ends another one goes on. Without ``runs_queries`` it is never this one.

    >>> with Database("embedded:" + getfixture("tmp_path").as_posix(), engine="local") as database:
    ...     _ = database.execute("CREATE STREAM clicks (id INT KEY, page STRING) WITH (kafka_topic='clicks', "
    ...                          "value_format='JSON', partitions=1); INSERT INTO clicks VALUES (1, 'home');")
    ...     database.execute("SELECT * FROM clicks;").rows()
    [(1, 'home')]
    """

    def __init__(
        self,
        broker: str | BrokerConfig = DEFAULT_BROKER,
        *,
        engine: Literal["spark", "local"] = "spark",
        settings: Mapping[str, Any] | None = None,
        functions: Registry | None = None,
        registry: SchemaRegistry | None = None,
        spark: Any = None,
        runs_queries: bool = True,
    ) -> None:
        check_engine(engine, spark)
        known = builtin() if functions is None else _registry(functions)
        given = as_dict(settings or {}, '{"ksql.streams.auto.offset.reset": "earliest"}')
        check_settings(given)
        self.names = Names.of(given)
        self.session = Session(read_script=text_of_file)
        self._lock = threading.RLock()
        self._scripts: dict[str, Counter[str]] = defaultdict(Counter)
        self._is_closed = False
        with ExitStack() as undoing:
            self.broker: Broker = open_broker(exactly_once(broker))
            undoing.callback(self.broker.close)
            self._upkeep = Upkeep(
                self.broker, self.names.runner, self._lock, self._follow, self._run_queries, self._halt_queries
            )
            undoing.callback(self._upkeep.release)
            found = registry or registry_from(given, _schemas_beside(self.broker.address))
            self._queries = RunningQueries(self.broker, engine, known, found, spark)
            undoing.callback(self._queries.close)
            self._journal = Journal(self.broker, self.names, self._starts_of)
            self._queries.state_directory = _state_directory(self.broker, self._journal.topic)
            self.engine = SqlEngine(
                BrokerTopics(self.broker, self._journal.write, self._queries.wait_until_left),
                self._queries,
                functions=known,
                registry=found,
                settings=given,
                next_number=lambda: self._journal.next_number,
                journal=self._journal,
            )
            self._asking = Asking(self.engine, self._queries, self.broker, self.names)
            self._catch_up()
            if runs_queries:
                self._upkeep.start()
                undoing.callback(self._upkeep.stop)
            self._closing = undoing.pop_all()

    # Statements

    def execute(self, text: str, session: Session | None = None) -> Answer:
        """Execute the statements of ``text``, each ended by ``;``, and give the answer of the last one.

        A mistake is an SqlError. One in any statement is found before the first is executed, as far as it can be.
        """
        last = Answer()
        for _, answer in self.run_text(text, session):
            last.close()
            last = answer
        return last

    def execute_all(self, text: str, session: Session | None = None) -> list[Answer]:
        """As ``execute``, with the answers of all statements."""
        return [answer for _, answer in self.run_text(text, session)]

    def run_text(
        self, text: str, session: Session | None = None, *, before: Before | None = None
    ) -> Iterator[tuple[st.Parsed, Answer]]:
        """As ``execute``, each statement when its answer is asked for, after ``before`` was called with it."""
        session = self.session if session is None else session
        _check_statements(text, session)
        statements = session.parsed(text)
        if len(statements) > 1:
            self._try_all(statements, session)
        yield from self._answers(statements, session, before)

    def run_script(self, text: str, name: str, *, before: Before | None = None) -> Iterator[tuple[st.Parsed, Answer]]:
        """As ``run_text``, without the statements that were executed before under the ``name`` of the script.

        What changes something is done once, however often the script is run; what asks, or sets, is done each time.
        """
        _check_statements(text, self.session)
        statements = self.session.parsed(text, script=name)
        with self._lock:
            self._catch_up()
            passed = Counter(self._scripts[name])
        due = [each for each in statements if not isinstance(each.statement, _ONCE) or not take_executed(each, passed)]
        check_inserts(name, due, passed, self.engine.queries.values())
        with edits_told(name, due, self._scripts):
            self._try_all(due, self.session)
        yield from self._answers(due, self.session, before)

    # Queries

    @property
    def persistent_queries(self) -> Mapping[str, PersistentQuery]:
        """The queries that keep running, by their ids."""
        return dict(self.engine.queries)

    def state_of(self, query_id: str) -> str:
        """RUNNING, PAUSED or ERROR; UNKNOWN where another process runs it, or none."""
        return self._queries.state(self._query(query_id))

    def failure_of(self, query_id: str) -> BaseException | None:
        """Why a query is in the state ERROR."""
        return self._queries.failure(self._query(query_id))

    @property
    def runner(self) -> Owner | None:
        """The process that runs the queries."""
        return self.broker.lease_owner(self.names.runner)

    def run_until_idle(self) -> None:
        """Wait until the queries that run in this process have processed what there is.

        Where one of them failed, that is raised when the others are done, and not again at the next call;
        ``failure_of`` keeps it.
        """
        self._queries.run_until_idle()

    def close(self) -> None:
        """End the queries that run in this process; they go on where they were when it is opened again."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._closing.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        known = f"{len(self.engine.catalog.sources)} streams and tables, {len(self.engine.queries)} queries"
        return f"<Database on {self.broker.address}: {known}>"

    # Inside

    def _try_all(self, statements: list[st.Parsed], session: Session) -> None:
        with self._lock:
            self._catch_up()
            self.engine.try_all([each for each in statements if not isinstance(each.statement, _NOT_TRIED)], session)

    def _answers(
        self, statements: list[st.Parsed], session: Session, before: Before | None
    ) -> Iterator[tuple[st.Parsed, Answer]]:
        for parsed in statements:
            if before is not None:
                before(parsed)
            yield parsed, self._execute(parsed, session)

    def _execute(self, parsed: st.Parsed, session: Session) -> Answer:
        with self._lock:
            self._check_open()
            if isinstance(parsed.statement, _JOURNALED) or _is_inserted_by_a_script(parsed):
                return Answer.of(self._journaled(parsed, session))
            self._catch_up()
            with mistakes_located(parsed):
                return self._asked(parsed, session)

    def _journaled(self, parsed: st.Parsed, session: Session) -> Done:
        done = self._written_down(parsed, session)
        if parsed.script is not None and isinstance(parsed.statement, _JOURNALED):
            self._scripts[parsed.script][parsed.text] += 1
        return done

    def _written_down(self, parsed: st.Parsed, session: Session) -> Done:
        """Execute a statement that is part of the journal; again, where another process took the turn meanwhile."""
        for left in reversed(range(_TRIES)):
            try:
                with self._journal.writing():
                    self._catch_up()
                    return self.engine.run(parsed, session)
            except FencedError:
                if not left:
                    raise
        raise AssertionError("not reached: the last try returns or raises")

    def _asked(self, parsed: st.Parsed, session: Session) -> Answer:
        match parsed.statement:
            case st.Select(query):
                return self._asking.answer(parsed.text, query, in_force(self.engine.settings, session.settings))
            case st.Print() as statement:
                return Answer(PRINTED, live=PrintedRecords(statement, self.broker), is_log=True)
            case _:
                return Answer.of(self.engine.run(parsed, session))

    def _catch_up(self) -> None:
        """Take over what was written into the journal, here before or elsewhere since."""
        with self._lock:
            for entry in self._journal.unread():
                self._take_over(entry)

    def _follow(self) -> None:
        with self._lock:
            self._catch_up()
            self._queries.start_waiting(self.engine.queries)

    def _take_over(self, entry: Entry) -> None:
        if entry.script is not None:
            self._scripts[entry.script][entry.statement] += 1
        if entry.plan is not None:
            if entry.plan.query_plan is not None:
                self._queries.starts[entry.plan.query_plan.query_id] = entry.starts
            self.engine.apply(entry.plan, entry.settings)
        elif entry.action is not None:
            self.engine.control(entry.action, entry.query_ids)

    def _starts_of(self, plan: StatementPlan, settings: Mapping[str, Any]) -> Starts:
        if plan.query_plan is None:
            return {}
        starts = self._queries.starts_of(PersistentQuery(plan.query_plan, plan.statement_text, settings))
        self._queries.starts[plan.query_plan.query_id] = starts
        return starts

    def _run_queries(self) -> None:
        with self._lock:
            self._catch_up()
            forget_orphans(self.broker, self.names.transient)
            self._queries.run_all(self.engine.queries)

    def _halt_queries(self) -> None:
        with self._lock:
            self._queries.is_running = False
            self._queries.close()

    def _query(self, query_id: str) -> PersistentQuery:
        found = self.engine.queries.get(query_id)
        if found is None:
            message = f"there is no query {query_id!r}"
            known = ", ".join(self.engine.queries) or "none"
            hint = did_you_mean(query_id, self.engine.queries) or "persistent_queries has them by their ids."
            raise ArgumentError(message, detail=f"The queries are: {known}.", hint=hint, at=user_line())
        return found

    def _check_open(self) -> None:
        if self._is_closed:
            raise IllegalStateError("the database is closed")


def _registry(functions: object) -> Registry:
    if not isinstance(functions, Registry):
        message = f"functions= takes a registry, found {functions!r}"
        hint = "Write functions=builtin().extended(f, g, module); builtin is in headrace.sql.functions."
        raise OperatorTypeError(message, hint=hint, at=user_line())
    return functions


def _check_statements(text: object, session: object) -> None:
    if not isinstance(text, str):
        message = f"statements are text, found {text!r}"
        hint = 'For example execute("SHOW STREAMS;"). A file: execute(path.read_text()).'
        raise OperatorTypeError(message, hint=hint, at=user_line())
    if not isinstance(session, Session):
        message = f"a Session is needed beside the statements, found {session!r}"
        hint = 'Values go into the statement itself: execute(f"SELECT * FROM clicks WHERE id = {number};").'
        raise OperatorTypeError(message, hint=hint, at=user_line())


def _is_inserted_by_a_script(parsed: st.Parsed) -> bool:
    """Its row goes together with an entry of the journal."""
    return parsed.script is not None and isinstance(parsed.statement, st.InsertValues)


def _state_directory(broker: Broker, journal: str) -> Path:
    """Beside the topics of an embedded broker; on Kafka below the common place, one for each journal there ever was."""
    directory = embedded_directory(broker.address)
    if directory is not None:
        return directory / "query-state"
    return StreamsConfig({}).state_dir / f"sql-{label_of(broker.describe_topic(journal).id)}"


def _schemas_beside(address: str) -> Path | None:
    """Where the schemas of an embedded broker are."""
    directory = embedded_directory(address)
    return None if directory is None else directory / "schema-registry"
