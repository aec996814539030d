"""The driver's part of a batch, wherever its tasks run: what the tasks have to know, and the one commit at the end."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.batch.application import Application, lay_out, make_topics
from headrace.batch.compatibility import Upgrade, compare
from headrace.batch.deleted_topics import check_changelogs, check_topics
from headrace.batch.failures import unpack_failure
from headrace.batch.fingerprint import Fingerprint, fingerprint
from headrace.batch.level import read_result
from headrace.batch.order import BatchOrder, TaskOrder
from headrace.batch.parcels import Kind, Parcel
from headrace.batch.placement import placement_changes
from headrace.batch.progress import Progress, TaskProgress
from headrace.batch.reports import BatchReport
from headrace.batch.task_id import TaskId
from headrace.batch.topics import resolve_sources
from headrace.batch.upgrading import Step
from headrace.batch.visit_contract import VisitResult
from headrace.broker.port import Commit, OffsetAndMetadata, TopicPartition
from headrace.errors import FencedError, TaskCorruptedError, TaskMigratedError
from headrace.state.directory_hold import DirectoryHold
from headrace.state.shared_memory import MemoryHold
from headrace.state.version import Version

if TYPE_CHECKING:
    from headrace.broker.port import Broker
    from headrace.topology import Topology

log = logging.getLogger(__name__)

_TRIES = 3
_LOST = "the record was deleted before it was read"


class Coordinator:
    """Holds the lease of an application and commits its batches.

    Only one process runs an application at a time: a second one is refused (LeaseHeldError).
    """

    def __init__(
        self, topology: Topology, settings: Mapping[str, Any], broker: Broker, clock: Callable[[], int]
    ) -> None:
        self._lay_out = partial(lay_out, topology, settings, broker)
        application = self._lay_out()
        self._broker = broker
        self._clock = clock
        with ExitStack() as undoing:
            self.lease = undoing.enter_context(broker.acquire_lease(application.id))
            self._hold = DirectoryHold(application.config.application_dir, broker.address)
            undoing.callback(self._hold.release)
            self.progress = Progress(broker.last_committed(application.id), broker.address)
            self.application = self._taken_over(application)
            self._memory = MemoryHold(application.config.application_dir, is_needed=self._has_memory)
            undoing.pop_all()
        self._changelogs = _changelogs(self.application)

    @property
    def has_new_topics(self) -> bool:
        """Whether other topics are to be read, or other partitions, than when the application was laid out."""
        application, there = self.application, self._broker.topics()
        if resolve_sources(application.topology, there) != application.topics.sources:
            return True
        read = application.topics.subtopology_of.keys() - application.repartition_topics
        return any(there.get(topic) != application.topics.partitions[topic] for topic in read)

    def lay_out_again(self) -> None:
        """Take in the topics there are now. Not while a batch runs."""
        check_topics(self.application, self._broker.topics())
        self.application = self._taken_over(self._lay_out())
        self._changelogs = _changelogs(self.application)

    def run(self, job: Callable[[BatchOrder], Iterable[Parcel]]) -> BatchReport:
        """Run the next batch by ``job`` and commit it.

        Again, where a worker was lost in the middle of it, or where a task found its local state corrupt: that has been
        removed then, and comes back from the changelog.
        """
        for left in reversed(range(_TRIES)):
            batch = self.order()
            try:
                return self.commit(batch, job(batch))
            except (TaskMigratedError, TaskCorruptedError) as error:
                if not left:
                    raise
                log.warning("running batch %d again: %s", batch.batch_id, error)
        raise AssertionError("not reached: the last try returns or raises")

    def order(self) -> BatchOrder:
        """What the tasks of the next batch have to know; FencedError where another process has taken over."""
        application, broker = self.application, self._broker
        check_topics(application, broker.topics())
        committed = broker.committed(application.id)
        ends = broker.end_offsets(partition for found in self._changelogs.values() for partition in found)
        # Renew after reading: these are the ends of our own commits only while we still hold the lease.
        self.lease.renew()
        orders = [
            TaskOrder(
                self.progress.tasks.get(task),
                [
                    (*partition, *committed[partition])
                    for partition in application.topics.partitions_of(task)
                    if partition in committed
                ],
                [(*partition, ends[partition]) for partition in self._changelogs[number]],
            )
            for number, task in enumerate(application.topics.task_ids())
        ]
        progress, now_ms = self.progress, self._clock()
        return BatchOrder(
            progress.batch_id + 1, self.lease.epoch, now_ms, orders, self._global_ends(), progress.state_id
        )

    def commit(self, batch: BatchOrder, parcels: Iterable[Parcel]) -> BatchReport:
        """Make everything that the visits did visible at once, or raise what went wrong in one of them."""
        results = _results(parcels)
        _check_attempts(results)
        self._commit(batch, results)
        return self._report(batch, results)

    def close(self) -> None:
        """Give the application back. Stores in memory end with it, unless another process runs it by now."""
        try:
            self.lease.renew()
            is_ours = True
        except FencedError:
            is_ours = False
        self._memory.release(is_ours=is_ours)
        self._hold.release()
        self.lease.release()

    def _commit(self, batch: BatchOrder, results: list[VisitResult]) -> None:
        tasks = self.application.topics.task_ids()
        visited = {tasks[result.task]: result.progress for result in results}
        notes = self.progress.notes(visited)
        self._broker.commit(
            Commit(
                self.application.id,
                batch.epoch,
                batch.batch_id,
                [segment for result in results for segment in result.segments],
                _offsets(results),
                notes,
            )
        )
        self.progress.committed(batch.batch_id, visited, notes)

    def _report(self, batch: BatchOrder, results: list[VisitResult]) -> BatchReport:
        changelogs = {topic.name for topic in self.application.topics.internal}
        dropped: Counter[str] = Counter()
        restored: Counter[tuple[str, str, int]] = Counter()
        for result in results:
            dropped.update(result.dropped)
            restored.update({(store, topic, number): count for store, topic, number, count in result.restored})
            for lost in result.lost:
                log.warning("%s", lost)
                dropped[_LOST] += lost.end - lost.start
        segments = [segment for result in results for segment in result.segments]
        return BatchReport(
            batch.batch_id,
            sum(result.records for result in results),
            sum(segment.records for segment in segments if segment.topic not in changelogs),
            self._clock() - batch.now_ms,
            len(results),
            dropped,
            restored,
            tuple(lost for result in results for lost in result.lost),
        )

    def _global_ends(self) -> list[tuple[str, int, int]]:
        topics = self.application.topics.global_topics
        if not topics:
            return []
        counts = self._broker.topics()
        partitions = [(topic, number) for topic in topics for number in range(counts[topic])]
        return [(*partition, end) for partition, end in self._broker.end_offsets(partitions).items()]

    def _taken_over(self, application: Application) -> Application:
        """Refuse a topology that cannot go on with the state there is; else make that state its own."""
        progress, broker = self.progress, self._broker
        check_changelogs(application, progress, broker)
        now, known = fingerprint(application.topology, application.topics), progress.fingerprint
        upgrade, tasks = Upgrade(()), progress.tasks
        if known is not None:
            old = Fingerprint.from_json(known)
            upgrade, now = compare(old, now), now.after(old)
            upgrade.check(application.id)
            if now != old:
                # Asked last: it reads changelogs, which fit only where nothing else is in the way.
                Upgrade(tuple(placement_changes(broker, old, now))).check(application.id)
                step = Step(old, now, upgrade, Version(progress.batch_id + 1, 0, self.lease.epoch))
                tasks = step.notes(tasks, application.topics.task_ids())
        application = make_topics(application, broker, has_run=known is not None)
        progress.fingerprint = now.to_json()
        progress.changelogs = {name: broker.describe_topic(name).created_ms for name in application.topics.changelogs}
        if known is not None:
            self._commit_upgrade(application, upgrade, tasks)
        return application

    @property
    def _has_memory(self) -> bool:
        """Whether a task has stores in memory."""
        known = self.progress.fingerprint
        stores = () if known is None else Fingerprint.from_json(known).stores
        return any(store.subtopology is not None and not store.persistent for store in stores)

    def _commit_upgrade(self, application: Application, upgrade: Upgrade, tasks: Mapping[TaskId, TaskProgress]) -> None:
        """Commit that the state belongs to the new topology from here on, even if it never runs a batch."""
        notes = self.progress.notes_of_upgrade(tasks)
        if tasks is self.progress.tasks and not self.progress.has_changed:
            return
        for change in upgrade.changes:
            log.info("the topology has changed: %s", change)
        batch_id = self.progress.batch_id + 1
        self._broker.commit(Commit(application.id, self.lease.epoch, batch_id, extras=notes))
        self.progress.committed(batch_id, tasks, notes)


def _changelogs(application: Application) -> dict[int, list[TopicPartition]]:
    """The changelog partitions of each task, by its number."""
    found = {}
    for number, task in enumerate(application.topics.task_ids()):
        plan = application.topology.task_plan(task.subtopology)
        topics = {topic for store, topic in plan.store_to_changelog.items() if store in plan.stores}
        found[number] = [(topic, task.partition) for topic in sorted(topics)]
    return found


def _results(parcels: Iterable[Parcel]) -> list[VisitResult]:
    results = []
    for parcel in parcels:
        if parcel.kind == Kind.FAILURE:
            raise unpack_failure(parcel.data)
        if parcel.kind == Kind.RESULT:
            results.append(read_result(parcel.data))
    return sorted(results, key=lambda result: (result.level, result.task))


def _check_attempts(results: list[VisitResult]) -> None:
    """Each visit must have read what those visits sent whose results are to be committed.

    A worker that is lost after some have read from it runs its visits again. What the others read then comes from
    another attempt, which need not have sent the same.
    """
    sent = Counter(delivery for result in results for delivery in result.sent)
    heard = Counter(delivery for result in results for delivery in result.heard)
    if sent != heard:
        message = "a task ran twice in this batch, and another one read what its first run had sent"
        raise TaskMigratedError(message, hint="Nothing was committed: run the batch again.")


def _offsets(results: list[VisitResult]) -> dict[TopicPartition, OffsetAndMetadata]:
    return {
        (topic, number): OffsetAndMetadata(offset, metadata)
        for result in results
        for topic, number, offset, metadata in result.offsets
    }
