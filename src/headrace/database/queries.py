"""The persistent queries of a database, each an application of its own."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from headrace.broker.port import Broker
from headrace.config import StreamsConfig
from headrace.database.forgetting import forget
from headrace.database.idle import run_until_idle
from headrace.database.positions import Starts, commit_starts, starts_from_now
from headrace.engines import LOCAL
from headrace.errors import HeadraceError, LeaseHeldError, in_short
from headrace.lifecycle.failures import failure_entry
from headrace.optional import extra_for
from headrace.query.replicas import Replicas
from headrace.serde.registry import SchemaRegistry
from headrace.sql.build.queries import streams_config, topology_of
from headrace.sql.engine.ports import PersistentQuery
from headrace.sql.functions.registry import Registry
from headrace.sql.processing_log import ProcessingLog
from headrace.streams import Streams
from headrace.topology import Topology

log = logging.getLogger(__name__)

_LEAVING_SECONDS = 2.0
_LOOK_SECONDS = 0.02


class RunningQueries:
    """Runs queries, or, while ``is_running`` is off, only knows which of them are to run."""

    def __init__(
        self, broker: Broker, engine: str, functions: Registry, registry: SchemaRegistry | None, session: Any = None
    ) -> None:
        self.is_running = False
        self.paused: set[str] = set()
        self.failures: dict[str, BaseException] = {}
        """Why queries could not be started."""
        self._raised: set[str] = set()
        """The queries whose failure ``run_until_idle`` has raised."""
        self.starts: dict[str, Starts] = {}
        """From where queries read that have not begun."""
        self.state_directory = Path()
        """Where queries keep their stores, unless settings say otherwise."""
        self._broker, self._engine = broker, engine
        self._functions, self._registry = functions, registry
        self._session = session
        self._own_session: Any = None
        self._apps: dict[str, Streams] = {}
        self._read: dict[str, set[str]] = {}
        """The topics that queries read."""
        self._replicas: dict[str, Replicas] = {}
        self._stopped: dict[str, PersistentQuery] = {}

    # What the engine of SQL asks for

    def start(self, query: PersistentQuery) -> None:
        """Run the query, from where it was if it ran before; one of the same id is replaced."""
        self._close(query.id)
        self._stopped.pop(query.id, None)
        if self.is_running:
            self._start(query)

    def stop(self, query: PersistentQuery) -> None:
        """Do not run it any more, and forget where it was."""
        self.paused.discard(query.id)
        self.failures.pop(query.id, None)
        self._raised.discard(query.id)
        self._close(query.id)
        if self.is_running:
            forget(self._broker, self.config(query))
        else:
            self._stopped[query.id] = query

    def pause(self, query: PersistentQuery) -> None:
        """Let it stand still."""
        self.paused.add(query.id)
        if query.id in self._apps:
            self._apps[query.id].pause()

    def resume(self, query: PersistentQuery) -> None:
        """Let it go on."""
        self.paused.discard(query.id)
        if query.id in self._apps:
            self._apps[query.id].resume()

    # What the database asks for

    def run_all(self, queries: Mapping[str, PersistentQuery]) -> None:
        """Run those that are to run, and clear up after those that were stopped when nobody ran them."""
        self.is_running = True
        for query in self._stopped.values():
            application = self.config(query)["application.id"]
            if application in self._broker.applications(application):
                self._clear_up_after(query)
        self._stopped.clear()
        for query in queries.values():
            self._start(query)

    def start_waiting(self, queries: Mapping[str, PersistentQuery]) -> None:
        """Try again to run those that another process had not given back yet."""
        for id_, error in list(self.failures.items()):
            if isinstance(error, LeaseHeldError) and id_ in queries:
                self._start(queries[id_])

    def wait_until_left(self, topic: str) -> None:
        """Give the process that runs queries a moment to end those that were stopped and wrote to a topic."""
        until = time.monotonic() + _LEAVING_SECONDS
        for query in self._stopped.values():
            if query.plan.topic_written == topic:
                application = self.config(query)["application.id"]
                while self._broker.lease_owner(application) is not None and time.monotonic() < until:
                    time.sleep(_LOOK_SECONDS)

    def starts_of(self, query: PersistentQuery) -> Starts:
        """From where a query is to read that is made now, as far as that is where topics end."""
        return starts_from_now(self._broker, self.topology(query))

    def state(self, query: PersistentQuery) -> str:
        """RUNNING, PAUSED or ERROR as ksqlDB says it; UNKNOWN where another process runs it."""
        if query.id in self.paused:
            return "PAUSED"
        if self._failure(query.id) is not None:
            return "ERROR"
        return "UNKNOWN" if query.id not in self._apps else "RUNNING"

    def failure(self, query: PersistentQuery) -> BaseException | None:
        """What ended a query."""
        return self._failure(query.id)

    def store(self, query: PersistentQuery, name: str) -> Any:
        """A store of the query as it was last committed, whoever runs it."""
        app = self._apps.get(query.id)
        if app is not None and app.state.is_running_or_rebalancing:
            return app.store(name, timestamped=True)
        if query.id not in self._replicas:
            self._replicas[query.id] = Replicas.of(self.topology(query), self.config(query), self._broker)
        return self._replicas[query.id].store(name, timestamped=True)

    def run_until_idle(self) -> None:
        """Wait until all queries have processed what there is, also what they write for each other.

        What ended one of them is raised when the others are done, once: the next call is about what runs then.
        """
        apps = dict(self._apps)
        read = {topic for id_ in apps for topic in self._read[id_]}
        run_until_idle(apps, read, self._broker)
        for id_ in (*apps, *self.failures):
            failure = self._failure(id_)
            if failure is not None and id_ not in self._raised | self.paused:
                self._raised.add(id_)
                raise failure

    def close(self) -> None:
        """End all of them; they go on where they were when they are started again."""
        with ExitStack() as ending:
            ending.callback(self._close_session)
            for id_ in list(self._replicas):
                ending.callback(self._replicas.pop(id_).close)
            for app in self._apps.values():
                ending.callback(app.close)
        self._apps.clear()

    def topology(self, query: PersistentQuery) -> Topology:
        """What the query is."""
        return topology_of(query.plan, self._functions, ProcessingLog(), self._registry, query.settings)

    def config(self, query: PersistentQuery) -> dict[str, Any]:
        """How its application is configured."""
        # Ids of queries are the same on every broker: their state is in a place of its own.
        place = {"state.dir": str(self.state_directory)}
        return {**place, **self._broker.config.for_applications(), **streams_config(query.id, query.settings)}

    # Inside

    def _failure(self, query_id: str) -> BaseException | None:
        app = self._apps.get(query_id)
        return self.failures.get(query_id) or (None if app is None else app.failure)

    def _start(self, query: PersistentQuery) -> None:
        self._raised.discard(query.id)
        try:
            session = None if self._engine == LOCAL else self._spark(query)
            app = Streams(self.topology(query), self.config(query), engine=self._engine, spark=session)  # type: ignore[arg-type]
            if query.id in self.paused:
                app.pause()
            commit_starts(self._broker, app.application_id, self.starts.get(query.id, {}))
            self._read[query.id] = query.plan.topics_read
            self._apps[query.id] = app
            app.start()
        except Exception as error:
            reason = getattr(error, "message", error)
            log.error("the query %s cannot be started: %s", query.id, reason, extra=failure_entry(error))
            self._apps.pop(query.id, None)
            self.failures[query.id] = error
            return
        self.failures.pop(query.id, None)

    def _clear_up_after(self, query: PersistentQuery) -> None:
        """Whoever runs the queries next tries it again."""
        try:
            forget(self._broker, self.config(query))
        except HeadraceError as error:
            log.warning("what the query %s left behind cannot be cleared away yet: %s", query.id, in_short(error))

    def _spark(self, query: PersistentQuery) -> Any:
        """One session for all queries: the end of one is not the end of the others."""
        if self._session is None:
            with extra_for("a query runs on Spark, which"):
                from headrace.spark.session import existing_session, open_session  # noqa: PLC0415
            self._session = existing_session()
            if self._session is None:
                config = StreamsConfig(self.config(query))
                self._session = self._own_session = open_session(config, config["num.stream.threads"])
        return self._session

    def _close(self, query_id: str) -> None:
        if query_id in self._apps:
            self._apps[query_id].close()
            del self._apps[query_id]
        replicas = self._replicas.pop(query_id, None)
        if replicas is not None:
            replicas.close()

    def _close_session(self) -> None:
        if self._own_session is not None:
            from headrace.spark.session import close_session  # noqa: PLC0415

            close_session(self._own_session)
            self._session = self._own_session = None
