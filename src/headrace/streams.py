"""``Streams``: an application that runs. It starts and ends the engine, and tells what it is doing."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from headrace.application.state_place import placed
from headrace.config import StreamsConfig
from headrace.durations import Duration, timeout_seconds
from headrace.engines import check_engine, engine_kind
from headrace.errors import HeadraceError, IllegalStateError, OperatorTypeError, TopologyError, user_line
from headrace.functions import called_as, check_function, refuse_async
from headrace.guesses import Face
from headrace.lifecycle import state_directory
from headrace.lifecycle.client_metrics import ClientMetrics
from headrace.lifecycle.failures import UncaughtExceptionHandler, failure_entry, shut_down_client, without_internals
from headrace.lifecycle.listener_thread import ListenerThread
from headrace.lifecycle.preflight import broker_address, warn_of_idle_settings
from headrace.lifecycle.program_end import end_with_program
from headrace.lifecycle.restores import RestoreListener, RestoreWatch
from headrace.lifecycle.run import Hooks, Run
from headrace.lifecycle.signals import stop_signals
from headrace.lifecycle.states import StateListener, StateMachine, StreamsState
from headrace.lifecycle.thread_names import ThreadNames
from headrace.listeners import check_outside_listener, is_inside_listener, tell
from headrace.optional import extra_for
from headrace.query.metadata import ApplicationMetadata, InstanceIds, Partitioner
from headrace.serde.given import given_serde
from headrace.state.query import check_query
from headrace.topology import Topology
from headrace.topology.topology import check_topology
from headrace.waiting import LONGEST_SECONDS, LimitedLock, all_stacks, join

if TYPE_CHECKING:
    from headrace.batch.reports import BatchReport, BatchUnderWay
    from headrace.metrics import MetricName
    from headrace.query import Query, QueryResult
    from headrace.query.metadata_values import (
        ClientInstanceIds,
        KeyQueryMetadata,
        LagInfo,
        StreamsMetadata,
        ThreadMetadata,
    )
    from headrace.query.standby import StandbyListener
    from headrace.serde.contract import GivenSerde

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.1
_PATIENCE_SECONDS = 60.0
_ENDED = StreamsState.NOT_RUNNING, StreamsState.ERROR


class Streams(Face):
    """An application: a topology that runs on Spark, with Kafka Streams' life (KafkaStreams).

    ``config`` is a dict with Kafka's names; ``application.id`` must be in it, and ``bootstrap.servers`` says where the
    topics are. ``spark`` is a SparkSession to be used as it is; without one a local session with ``num.stream.threads``
    threads is made, and ended with the application. With ``engine="local"`` all tasks run in one thread of this
    process, without Spark or Java. One object is started once. As a context manager it starts and closes::

        with Streams(builder.build(), {"application.id": "views"}) as app:
            app.wait()

    Only one process at a time runs an application: ``start`` in a second one is a LeaseHeldError.
    """

    @called_as('Streams(builder.build(), {"application.id": "my-app"}), further arguments by their names')
    def __init__(
        self,
        topology: Topology,
        config: Mapping[str, Any] | StreamsConfig,
        *,
        engine: Literal["spark", "local"] = "spark",
        spark: Any = None,
    ) -> None:
        self._topology = _checked(topology)
        self._config = StreamsConfig(config)
        check_engine(engine, spark)
        self._engine, self._session = engine, spark
        self.application_id = self._config.application_id
        self.client_id: str = self._config["client.id"] or f"{self.application_id}-{uuid.uuid4()}"
        """``client.id``, or a name that is unique."""
        self._states = StateMachine(self.client_id)
        self._restores = RestoreWatch()
        self._metrics = ClientMetrics(self._config, self.client_id)
        self._handler: UncaughtExceptionHandler = shut_down_client
        self._threads = ThreadNames(self.client_id, self._config["num.stream.threads"])
        self._standbys: list[StandbyListener] = []
        self._ids = InstanceIds()
        self._batch_listeners: list[Callable[[BatchReport], object]] = []
        self._listener_thread = ListenerThread(
            f"{self.client_id}-ListenerThread", lambda: not self.state.is_running_or_rebalancing
        )
        self._starting = LimitedLock("starting the application or changing how it runs", LONGEST_SECONDS)
        self._is_paused = False
        self._waiting: list[int] = []
        self._told: BaseException | None = None
        self._failure: BaseException | None = None
        self._run: Run | None = None
        self._closing: threading.Thread | None = None

    def __repr__(self) -> str:
        where = self._config.originals.get("bootstrap.servers", "no bootstrap.servers")
        return f"<Streams {self.application_id} on {where}: {self.state.value}>"

    # Before the start

    def on_state_change(self, listener: StateListener) -> None:
        """Call ``listener(new, old)`` at each change of the state, in the thread that makes the change."""
        self._check_not_started("a state listener", listener)
        self._states.listen(listener)

    def on_restore(self, listener: RestoreListener) -> None:
        """Call ``listener(event)`` when a store begins to be restored, as it goes on, and when it is done."""
        self._check_not_started("a restore listener", listener)
        self._restores.listen(listener)

    def on_standby_update(self, listener: StandbyListener) -> None:
        """Call ``listener(event)`` when the copy of a store that answers queries is made, follows, and is put aside."""
        self._check_not_started("a standby listener", listener)
        self._standbys.append(listener)

    def on_batch(self, listener: Callable[[BatchReport], object]) -> None:
        """Call ``listener(report)`` after each batch that is committed. The next one waits for it.

        The end of the application waits for it too, but not for longer than half a minute.
        """
        self._check_not_started("a batch listener", listener)
        self._batch_listeners.append(listener)

    def on_uncaught_exception(self, handler: UncaughtExceptionHandler) -> None:
        """Ask ``handler(error)`` when processing fails; its StreamThreadExceptionResponse says what to do.

        Without a handler, and where the handler fails itself, the application ends in the state ERROR.
        """
        self._check_not_started("an uncaught-exception handler", handler)
        self._handler = handler

    # The life of an application

    @property
    def state(self) -> StreamsState:
        """What the application is doing."""
        return self._states.state

    @property
    def failure(self) -> BaseException | None:
        """What ended the application in the state ERROR."""
        return self._failure

    @property
    def waiting_for(self) -> str | None:
        """The broker that does not answer, and since when; None where none is waited for. It goes on by itself."""
        return None if self._run is None else self._run.supervisor.waiting_for

    def start(self) -> None:
        """Begin to process; returns when batches run. A program that ends closes the application: wait() keeps it on.

        A topology that does not fit the topics, another process that runs the application: such errors come before
        anything has happened, and the state stays CREATED. Starting twice is an IllegalStateError.
        """
        try:
            self._start()
        except HeadraceError as error:
            raise without_internals(error) from error.__cause__

    def _start(self) -> None:
        with self._starting:
            if self.state is not StreamsState.CREATED:
                message = f"application {self.application_id} was started before: its state is {self.state}"
                raise IllegalStateError(message, hint="Make another Streams object to run it again.")
            warn_of_idle_settings(self._config)
            # From here on whoever closes the application closes the run as well.
            self._run = self._new_run()
            self._run.replicas.standbys += self._standbys
            try:
                if may_start := self._states.try_to_become(StreamsState.REBALANCING):
                    self._run.start()
                    self._states.try_to_become(StreamsState.RUNNING)
            except BaseException as error:
                # A signal, by which somebody says that they do not want to wait, is no error.
                is_error = isinstance(error, (Exception, SystemExit))
                self._end_in_error(error) if is_error else self._begin_to_close()
                self._has_ended(None)
                raise
            if not may_start:
                self._run.close()
                message = f"application {self.application_id} was closed while it was started"
                raise IllegalStateError(message)
            end_with_program(self.application_id, self._has_ended, self.close)

    def close(self, timeout: Duration | None = None) -> bool:
        """End after the batch at hand; True when it has ended, False where ``timeout`` was too short for that.

        ``timeout`` is a timedelta, or whole milliseconds of a second or more: fewer look like seconds and are refused.

        A listener cannot wait for the end, which waits for the listener: there the answer is False at once, and the
        application ends when the listener has returned.
        """
        seconds = timeout_seconds(timeout)
        self._begin_to_close()
        return self.state.has_ended if is_inside_listener() else self._has_ended(seconds)

    def wait(self, timeout: Duration | None = None) -> bool:
        """Wait until the application has ended; False where it still runs after ``timeout`` (as for ``close``).

        In the main thread SIGTERM and Ctrl-C end it meanwhile, between two batches; a second Ctrl-C is a
        KeyboardInterrupt at once. Where processing failed for good, that error is raised.
        """
        left = timeout_seconds(timeout)
        if self.state is StreamsState.CREATED:
            message = f"application {self.application_id} has not been started"
            raise IllegalStateError(message, hint="Call start() first.")
        check_outside_listener("wait()")
        with self._awaited(), stop_signals() as wish:
            while not self._has_ended(_LOOK_SECONDS):
                if wish.is_there:
                    self._begin_to_close()
                if left is not None and (left := left - _LOOK_SECONDS) <= 0:
                    return False
        if self._failure is not None:
            raise without_internals(self._failure)
        return True

    def __enter__(self) -> Streams:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # A second interrupt, while the application is ending, means: do not wait for the batch.
        is_hurried = kind is KeyboardInterrupt and self.state.is_shutting_down
        self.close(timeout=0 if is_hurried else None)

    def clean_up(self) -> None:
        """Delete the local state of the application on this machine; it comes back from the changelogs."""
        if self.state is not StreamsState.CREATED and not self.state.has_ended:
            raise IllegalStateError("local state cannot be cleaned up while the application runs")
        state_directory.clean_up(placed(self._config, broker_address(self._config)).application_dir)

    # While it runs

    @property
    def is_paused(self) -> bool:
        """Whether ``pause`` was called and ``resume`` was not."""
        return self._is_paused

    def pause(self) -> None:
        """Process nothing from now on; returns after the batch at hand. The state stays as it is.

        Called in a listener it returns at once: the batch at hand waits for the listener.
        """
        self._set_paused(is_paused=True)

    def resume(self) -> None:
        """Go on after ``pause``."""
        self._set_paused(is_paused=False)

    def add_stream_thread(self) -> str | None:
        """Let one more task run at the same time; the name of the thread, None where the application does not run."""
        return self._change_threads(self._threads.add)

    def remove_stream_thread(self) -> str | None:
        """Let one task less run at the same time; the name of the thread, None where none can be removed."""
        return self._change_threads(self._threads.remove)

    def run_until_idle(self) -> int:
        """Wait until everything there is has been processed; how many batches that took."""
        check_outside_listener("run_until_idle()")
        with self._awaited():
            return self._running().supervisor.run_until_idle()

    @property
    def batch_under_way(self) -> BatchUnderWay | None:
        """The batch that runs now: its number, how many records it was planned with, and since when it runs."""
        return None if self._run is None else self._run.engine.batch_under_way

    def metrics(self) -> Mapping[MetricName, float]:
        """Every metric of the application by its name, with Kafka's names where Kafka has one."""
        if self._run is None or self.state.has_ended:
            return self._metrics.values(threads=0, lags={})
        return self._metrics.values(threads=len(self._threads), lags=self._run.lags())

    def store(self, name: str, *, timestamped: bool = False) -> Any:
        """A store for reading: each answer reflects what is committed by then. See ``headrace.query.replicas``."""
        return self._running().replicas.store(name, timestamped=timestamped)

    def query(self, store: str, query: Query) -> dict[int, QueryResult]:
        """Ask each partition of a store an interactive query; ``position`` of an answer says how far it had come."""
        check_query(store, query)
        return self._running().replicas.query(store, query)

    # Metadata: one process runs an application, and has everything

    def query_metadata_for_key(
        self, store: str, key: Any, *, key_serde: GivenSerde[Any] | None = None, partitioner: Partitioner | None = None
    ) -> KeyQueryMetadata:
        """Which instance and which partition of ``store`` has ``key``; the store's own key serde unless one is given.

        ``partitioner(topic, key, value, partitions)`` is needed where the records were partitioned by one.
        """
        if partitioner is not None:
            check_function("query_metadata_for_key(): partitioner", partitioner, 4, user_line())
        return self._metadata().for_key(store, key, given_serde("key_serde", key_serde), partitioner)

    def streams_metadata_for_store(self, store: str) -> list[StreamsMetadata]:
        """The instances that have a store."""
        return self._metadata().instances_with(store)

    def metadata_for_all_streams_clients(self) -> list[StreamsMetadata]:
        """All instances of the application; ``application.server`` says where each of them is."""
        return self._metadata().instances()

    def metadata_for_local_threads(self) -> list[ThreadMetadata]:
        """The threads and their tasks, with the offsets that are committed.

        Tasks are not bound to threads here, Spark gives them to whichever is free: they are listed in turn.
        """
        return self._metadata().threads(self._threads.all, str(self.state))

    def all_local_store_partition_lags(self) -> dict[str, dict[int, LagInfo]]:
        """How far the copies of the stores that answer queries are behind, by store and partition."""
        return self._running().replicas.lags()

    def client_instance_ids(self, timeout: Duration | None = None) -> ClientInstanceIds:
        """The ids of the admin client, consumers and producers; IllegalStateError with ``enable.metrics.push`` off.

        ``timeout`` is there because Kafka has it: no broker is asked, so there is nothing to wait for.
        """
        self._running()
        if not self._config["enable.metrics.push"]:
            raise IllegalStateError("enable.metrics.push is off: clients have no instance ids")
        return self._ids.of(self._threads.all)

    def _metadata(self) -> ApplicationMetadata:
        run = self._running()
        return ApplicationMetadata(run.replicas, run.broker)

    def store_dataframe(self, name: str) -> Any:
        """A store as a Spark DataFrame of what is committed now; its columns are those of ``headrace.query.tables``."""
        return self._running().engine.dataframe(self.store_arrow(name))

    def store_arrow(self, name: str) -> Any:
        """The same as an Arrow table."""
        with extra_for("an Arrow table"):
            from headrace.query.tables import store_table  # noqa: PLC0415
        return store_table(self._running().replicas, name)

    def store_pandas(self, name: str) -> Any:
        """The same as a pandas DataFrame."""
        return self.store_arrow(name).to_pandas()

    # Inside

    def _check_not_started(self, what: str, function: Any) -> None:
        if not callable(function):
            message = f"{what} must be callable, found {function!r}"
            raise OperatorTypeError(message)
        refuse_async(what, function, user_line())
        if self.state is not StreamsState.CREATED:
            message = f"{what} can only be set before start(); the state is {self.state}"
            raise IllegalStateError(message)

    def _new_run(self) -> Run:
        return Run(
            self._topology,
            self._config,
            self._states,
            Hooks(self._handler, self._on_batch, self._give_up, self._restores),
            kind=engine_kind(self._engine, self._session),
            threads=len(self._threads),
            is_paused=self._is_paused,
        )

    def _running(self) -> Run:
        if self._run is None or not self.state.is_running_or_rebalancing:
            message = f"application {self.application_id} is not running: its state is {self.state}"
            raise IllegalStateError(message, hint="Call start() first." if self._run is None else None)
        return self._run

    def _set_paused(self, *, is_paused: bool) -> None:
        self._is_paused = is_paused
        if is_inside_listener():
            threading.Thread(target=self._apply_pause, name=f"{self.client_id}-PauseThread", daemon=True).start()
        else:
            self._apply_pause()

    def _apply_pause(self) -> None:
        with self._starting:
            if self._run is not None:
                self._run.supervisor.set_paused(lambda: self._is_paused)

    def _change_threads(self, change: Callable[[], str | None]) -> str | None:
        check_outside_listener("adding or removing a thread")
        with self._starting:
            if self._run is None or not self.state.is_running_or_rebalancing:
                log.warning("threads cannot be changed in the state %s", self.state)
                return None
            name = change()
            if name is not None:
                self._states.try_to_become(StreamsState.REBALANCING)
                self._run.supervisor.set_threads(len(self._threads))
                self._states.try_to_become(StreamsState.RUNNING)
            return name

    def _on_batch(self, report: BatchReport) -> None:
        self._metrics.take(report)
        self._listener_thread.run(lambda: self._tell_of(report))

    def _tell_of(self, report: BatchReport) -> None:
        self._restores.finish(report.restored)
        tell("batch", self._batch_listeners, report)

    def _begin_to_close(self) -> None:
        self._states.become(StreamsState.PENDING_SHUTDOWN, lambda: self._in_background(StreamsState.NOT_RUNNING))

    def _give_up(self, error: BaseException) -> None:
        try:
            self._log_unawaited("application %s ends in the state ERROR", error, failure_entry(error))
        finally:
            self._end_in_error(error)

    @contextmanager
    def _awaited(self) -> Iterator[None]:
        """Who waits inside the block gets the error that ends the application: it is not logged as well."""
        self._waiting.append(threading.get_ident())
        try:
            yield
        except HeadraceError as error:
            self._told = error
            raise without_internals(error) from error.__cause__
        finally:
            self._waiting.remove(threading.get_ident())

    def _log_unawaited(self, message: str, error: BaseException, extra: Mapping[str, object] | None = None) -> None:
        if not self._waiting and error is not self._told:
            log.error(message, self.application_id, exc_info=without_internals(error), extra=extra)

    def _end_in_error(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._states.try_to_become(StreamsState.PENDING_ERROR, lambda: self._in_background(StreamsState.ERROR))

    def _in_background(self, final: StreamsState) -> None:
        # Not in the calling thread: it may be one of those that are to be ended.
        name = f"{self.client_id}-CloseThread"
        self._closing = threading.Thread(target=self._shut_down, args=(final,), name=name, daemon=True)
        self._closing.start()

    def _has_ended(self, seconds: float | None) -> bool:
        """Without a limit as long as the batch at hand takes; where that is long, the log says what is waited for."""
        while not self._states.wait_for(*_ENDED, timeout=_PATIENCE_SECONDS if seconds is None else seconds):
            if seconds is not None:
                return False
            self._tell_what_is_waited_for()
        # Listeners hear of the end before whoever waits for it goes on.
        if self._closing is not None:
            join(self._closing, _PATIENCE_SECONDS)
        return True

    def _tell_what_is_waited_for(self) -> None:
        batch = self.batch_under_way
        if batch is not None:
            what = "application %s ends after batch %d of %d records, which runs since %d s"
            log.warning(what, self.application_id, batch.number, batch.records, time.time() - batch.since)
        else:
            log.warning("application %s takes long to end; all threads:\n%s", self.application_id, all_stacks())

    def _shut_down(self, final: StreamsState) -> None:
        try:
            if self._run is not None:
                self._run.close()
        except BaseException as error:
            # What failed first is told already; Spark may have gone because of it.
            first, self._failure = self._failure, self._failure or error
            if first is None:
                self._log_unawaited("application %s did not end well", error)
        finally:
            self._listener_thread.close()
            self._states.become(final)


def _checked(topology: Topology) -> Topology:
    check_topology(topology, "Streams")
    if not any(True for _ in topology.graph.sources()):
        raise TopologyError("the topology reads no topic", hint="Add a source: builder.stream(...) or add_source(...).")
    return topology
