"""What an application tells of itself: its instances, tasks, threads, and which of them has a key.

One process runs an application, so there is one instance, and it has everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from headrace.errors import ArgumentError, UnknownTopicError, user_line
from headrace.partitioning import default_partition
from headrace.query.metadata_values import (
    ClientInstanceIds,
    HostInfo,
    KeyQueryMetadata,
    StreamsMetadata,
    TaskMetadata,
    ThreadMetadata,
)

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.application.task_id import TaskId
    from headrace.broker.port import Broker, TopicPartition
    from headrace.query.replicas import Replicas
    from headrace.serde import Serde

Partitioner = Callable[[str, Any, Any, int], "int | None"]


class ApplicationMetadata:
    def __init__(self, replicas: Replicas, broker: Broker) -> None:
        self._replicas = replicas
        self._broker = broker

    @property
    def _application(self) -> Application:
        return self._replicas.application

    @property
    def host_info(self) -> HostInfo:
        return HostInfo.of(self._application.config["application.server"])

    def instances(self) -> list[StreamsMetadata]:
        """All instances: this one."""
        topics = self._application.topics
        read = (one for task in topics.task_ids() for one in topics.partitions_of(task))
        return [StreamsMetadata(self.host_info, frozenset(self._replicas.layouts), frozenset(read))]

    def instances_with(self, store: str) -> list[StreamsMetadata]:
        """The instances that have a store; an unknown one is an UnknownStoreError."""
        self._replicas.known_layout(store)
        return self.instances()

    def for_key(
        self, store: str, key: Any, key_serde: Serde[Any] | None, partitioner: Partitioner | None
    ) -> KeyQueryMetadata:
        """Which instance, and which partition of the store, has ``key``."""
        layout = self._replicas.known_layout(store)
        if layout.is_global:
            return KeyQueryMetadata(self.host_info, frozenset(), -1)
        topic = layout.topic or store
        chosen = None if partitioner is None else partitioner(topic, key, None, layout.partitions)
        if chosen is None:
            serde = key_serde or self._replicas.key_serde(store)
            data = serde.serialize(topic, key)
            if data is None:
                raise ArgumentError("no partition has the key None", at=user_line())
            chosen = default_partition(data, layout.partitions)
        return KeyQueryMetadata(self.host_info, frozenset(), chosen)

    def threads(self, names: Iterable[str], state: str) -> list[ThreadMetadata]:
        """The threads, with the tasks dealt out in turn: Spark gives a task to whichever thread is free."""
        tasks, named = self._tasks(), list(names)
        return [ThreadMetadata(name, state, tuple(tasks[n :: len(named)])) for n, name in enumerate(named)]

    def _tasks(self) -> list[TaskMetadata]:
        topics = self._application.topics
        own = self._application.repartition_topics
        reads = {task: [one for one in topics.partitions_of(task) if one[0] not in own] for task in topics.task_ids()}
        ends = self._ends([one for partitions in reads.values() for one in partitions])
        committed = {one: read.offset for one, read in self._broker.committed(self._application.id).items()}
        return [self._task(task, partitions, committed, ends) for task, partitions in reads.items()]

    def _task(
        self,
        task: TaskId,
        partitions: list[TopicPartition],
        committed: dict[TopicPartition, int],
        ends: dict[TopicPartition, int],
    ) -> TaskMetadata:
        read = {one: committed[one] for one in partitions if one in committed}
        last = {one: ends[one] for one in partitions if one in ends}
        return TaskMetadata(str(task), frozenset(partitions), read, last)

    def _ends(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        try:
            return self._broker.end_offsets(partitions)
        except UnknownTopicError:  # one was deleted while the application runs
            return {}


class InstanceIds:
    """Ids of clients, made when they are first asked for; the embedded broker hands out none."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], UUID] = {}

    def of(self, threads: Iterable[str]) -> ClientInstanceIds:
        """The ids of an application with these threads; each stays what it was."""
        names = list(threads)
        consumers = {f"{name}-consumer": self._id("consumer", name) for name in names}
        producers = {f"{name}-producer": self._id("producer", name) for name in names}
        return ClientInstanceIds(self._id("admin", ""), consumers, producers)

    def _id(self, kind: str, name: str) -> UUID:
        return self._made.setdefault((kind, name), uuid4())
