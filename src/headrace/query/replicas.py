"""Replicas of an application's stores: they follow what it has committed and never process its input.

They only read topics, so the application may run meanwhile, here or in other processes. What is not committed they
never see.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.application.layout import lay_out
from headrace.errors import ArgumentError, IllegalStateError, UnknownStoreError
from headrace.near_names import did_you_mean
from headrace.query.global_following import GlobalReplica
from headrace.query.layout import StoreLayout, check_readable, store_layouts
from headrace.query.metadata_values import LagInfo
from headrace.query.positions import input_position
from headrace.query.read_only import read_only
from headrace.query.replica_files import ReplicaDirectory, replica_directory
from headrace.query.rows import StoreRow, rows_of
from headrace.query.standby import StandbyListener
from headrace.query.store_follower import StoreFollower, bounds
from headrace.state.query import Query, QueryResult, execute

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.broker.port import Broker, OffsetAndMetadata, TopicPartition
    from headrace.config import StreamsConfig
    from headrace.serde import Serde
    from headrace.state.position import Position
    from headrace.topology import Topology


class Replicas:
    """The stores of an application as it last committed them. A context manager; several threads may use it.

    A store is copied when it is first asked for, below ``directory`` (without one: beside the state of the tasks), and
    from then on brought up to date by what is new before each answer. A copy that cannot be continued is made again.
    """

    def __init__(self, application: Application, broker: Broker, directory: Path | None = None) -> None:
        self.application = application
        self.layouts: Mapping[str, StoreLayout] = store_layouts(application)
        """All stores by name, also those that cannot be read from outside."""
        self._broker = broker
        self._parent = directory or replica_directory(application.config)
        self._place: ReplicaDirectory | None = None
        self._followers: dict[str, StoreFollower] = {}
        self._globals: GlobalReplica | None = None
        self._lock = threading.RLock()
        self._is_closed = False
        self.standbys: list[StandbyListener] = []
        """Told of every step of the copies, in the thread that asks the store."""

    @classmethod
    def of(
        cls,
        topology: Topology,
        settings: Mapping[str, Any] | StreamsConfig,
        broker: Broker,
        directory: Path | None = None,
    ) -> Replicas:
        """Replicas of an application that runs elsewhere, or not at all. No topic is made."""
        return cls(lay_out(topology, settings, broker, is_to_run=False), broker, directory)

    def follow(self, application: Application) -> None:
        """Switch to the application as it is planned now; a store whose partitions changed is copied again."""
        with self._lock:
            layouts = store_layouts(application)
            for name in [name for name in self._followers if layouts[name] != self.layouts[name]]:
                self._followers.pop(name).close()
            self.application, self.layouts = application, layouts

    # Reading

    def store(self, name: str, *, timestamped: bool = False) -> Any:
        """The store over all its partitions, for reading; each answer reflects what is committed by then.

        Values are bare, as Kafka Streams gives them; with ``timestamped`` those of a store that keeps timestamps are
        ``ValueAndTimestamp``. A name that no store has is an UnknownStoreError; a store that cannot be read outside of
        its tasks is an UnsupportedError.
        """
        layout = self.layout(name)
        return read_only(layout, lambda: list(self.partitions(name).values()), timestamped=timestamped)

    def query(self, name: str, question: Query) -> dict[int, QueryResult]:
        """Ask each partition of a store an interactive query; the answers say how far the store reflects its input."""
        with self._lock:
            # Asked for before the stores are brought up to date: no answer claims more than it reflects.
            committed = self._broker.committed(self.application.id)
            found = self.partitions(name)
            positions = {number: self._position(name, number, committed) for number in found}
            return {
                number: replace(execute(store, question), position=positions[number]) for number, store in found.items()
            }

    def rows(self, name: str, *, partition: int | None = None) -> Iterator[StoreRow]:
        """The entries of a store as dicts, partition after partition; see ``headrace.query.rows``."""
        layout, found = self.layout(name), self.partitions(name)
        if partition is not None:
            if partition not in found:
                message = f"the store {name!r} has no partition {partition}"
                raise ArgumentError(message, detail=f"its partitions are 0 to {len(found) - 1}")
            found = {partition: found[partition]}
        return (row for number, store in found.items() for row in rows_of(layout, store, number))

    def partitions(self, name: str) -> dict[int, Any]:
        """The typed store of each partition, up to date. For reading only. A global store has one partition, 0."""
        layout = self.layout(name)
        with self._lock:
            if layout.is_global:
                replica = self._global_replica()
                replica.follow(self._broker)
                return {0: replica.store(name)}
            follower = self._follower(layout)
            follower.catch_up()
            return follower.stores

    def key_serde(self, name: str) -> Serde[Any]:
        """How the keys of a store are written."""
        store = next(iter(self.partitions(name).values()))
        serde: Serde[Any] = store.serdes[0]
        return serde

    def lags(self) -> dict[str, dict[int, LagInfo]]:
        """How far the copies are behind, of every store that has a changelog; global stores have none."""
        with self._lock:
            followed = {name: layout for name, layout in self.layouts.items() if layout.topic and not layout.is_global}
            return {name: self._lag(layout) for name, layout in followed.items()}

    def layout(self, name: str) -> StoreLayout:
        """What is known of a store that can be read; see ``store`` for those that cannot."""
        layout = self.known_layout(name)
        check_readable(name, layout.kind, has_topic=layout.is_global or layout.topic is not None)
        return layout

    def known_layout(self, name: str) -> StoreLayout:
        """What is known of a store, whether or not it can be read; an unknown one is an UnknownStoreError."""
        layout = self.layouts.get(name)
        if layout is None:
            message = f"there is no store called {name!r}"
            detail = f"the stores are: {', '.join(self.layouts) or 'none'}"
            raise UnknownStoreError(message, detail=detail, hint=did_you_mean(name, self.layouts))
        return layout

    # Following

    def catch_up(self) -> int:
        """Bring all stores that were asked for up to date; how many records that took."""
        with self._lock:
            self._check_open()
            count = sum(follower.catch_up() for follower in self._followers.values())
            return count if self._globals is None else count + self._globals.follow(self._broker)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Let no other thread bring stores up to date while several answers are to fit together."""
        with self._lock:
            yield

    def close(self) -> None:
        """Close the stores. Their files stay, and the next process continues from them."""
        with self._lock:
            self._is_closed = True
            for follower in self._followers.values():
                follower.close()
            self._followers.clear()
            if self._globals is not None:
                self._globals.close()
                self._globals = None
            if self._place is not None:
                self._place.release()
                self._place = None

    def __enter__(self) -> Replicas:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Inside

    def _position(self, name: str, partition: int, committed: Mapping[TopicPartition, OffsetAndMetadata]) -> Position:
        layout = self.layouts[name]
        if layout.subtopology is None:
            return self._global_replica().position
        return input_position(self.application, layout.subtopology, partition, committed)

    def _lag(self, layout: StoreLayout) -> dict[int, LagInfo]:
        follower = self._followers.get(layout.name)
        _, ends = bounds(layout, self.application.id, self._broker)
        at = {} if follower is None else follower.offsets
        return {number: LagInfo(at.get(number, 0), end) for (_, number), end in ends.items()}

    def _follower(self, layout: StoreLayout) -> StoreFollower:
        found = self._followers.get(layout.name)
        if found is None:
            found = StoreFollower(layout, self.application.config, self._broker, self._claimed(), self.standbys)
            self._followers[layout.name] = found
        return found

    def _global_replica(self) -> GlobalReplica:
        if self._globals is None:
            plan = self.application.topology.global_plan()
            assert plan is not None, "there is a global store"
            self._globals = GlobalReplica(self.application, plan, self._claimed().path / "global")
        return self._globals

    def _claimed(self) -> ReplicaDirectory:
        self._check_open()
        if self._place is None:
            self._place = ReplicaDirectory(self._parent)
        return self._place

    def _check_open(self) -> None:
        if self._is_closed:
            raise IllegalStateError(
                "the application was closed", hint="Read its stores before that, or start it again."
            )
