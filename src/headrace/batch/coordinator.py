"""The driver's part of a batch, wherever tasks run: what the tasks have to know, and the one decision at the end."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.application.deleted_topics import check_topics, deleted_changelogs, not_its_changelogs
from headrace.application.layout import Application, lay_out
from headrace.application.progress import Progress, TaskProgress
from headrace.application.takeover import has_memory, take_over
from headrace.application.task_id import TaskId
from headrace.application.topics import resolve_sources
from headrace.batch.failures import unpack_failure
from headrace.batch.level import read_result
from headrace.batch.offsets import BatchPlan
from headrace.batch.order import BatchOrder, TaskOrder
from headrace.batch.parcels import Kind, Parcel
from headrace.batch.reading import Planner, unread_repartitions
from headrace.batch.reports import BatchReport
from headrace.batch.visit_contract import VisitResult
from headrace.broker.port import Decision, Outcome, TopicPartition
from headrace.errors import (
    BrokerError,
    HeadraceError,
    NotDecidedError,
    OutcomeUnknownError,
    TaskMigratedError,
    in_short,
)
from headrace.records import offsets_by_partition
from headrace.state.directory_hold import DirectoryHold
from headrace.state.shared_memory import MemoryHold

if TYPE_CHECKING:
    from headrace.broker.port import Broker
    from headrace.topology import Topology

log = logging.getLogger(__name__)

ASK_SECONDS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
"""How long to wait before each question what became of a decision."""
_LOST = "the record was deleted before it was read"


class Coordinator:
    """Owns an application and decides its batches.

    Only one process does at a time: a second one is refused (LeaseHeldError) or fences the first (FencedError).
    """

    def __init__(
        self, topology: Topology, settings: Mapping[str, Any], broker: Broker, clock: Callable[[], int]
    ) -> None:
        self._lay_out = partial(lay_out, topology, settings, broker)
        application = self._lay_out()
        self._broker = broker
        self._clock = clock
        self._in_doubt: tuple[Decision, Mapping[TaskId, TaskProgress]] | None = None
        self._is_publishing = False
        with ExitStack() as undoing:
            self.lease = undoing.enter_context(broker.acquire_lease(application.id))
            self._hold = DirectoryHold(application.config.application_dir, broker.identity)
            undoing.callback(self._hold.release)
            self.publish()
            self.progress = Progress(broker.last_decided(application.id), broker.address)
            self.application = self._taken_over(application)
            self._memory = MemoryHold(application.config.application_dir, is_needed=has_memory(self.progress))
            undoing.pop_all()
        self._use_layout()

    @property
    def has_new_topics(self) -> bool:
        """Whether there are other topics, or other partitions, than when the application was laid out."""
        application, there = self.application, self._broker.topics()
        if resolve_sources(application.topology, there) != application.topics.sources:
            return True
        if deleted_changelogs(self.progress, self._broker):
            return True
        read = application.topics.subtopology_of.keys() - application.repartition_topics
        return any(there.get(topic) != application.topics.partitions[topic] for topic in read)

    def lay_out_again(self) -> None:
        """Take in the topics there are now. Not while a batch runs."""
        self.publish()
        check_topics(self.application, self._broker.topics())
        self.application = self._taken_over(self._lay_out())
        self._use_layout()

    def _use_layout(self) -> None:
        self._changelogs = _changelogs(self.application)
        self._planner = Planner(self.application, unread_repartitions(self.application, self._broker))

    def plan(self) -> BatchPlan:
        """What the next batch reads at most; an empty one where nothing is due."""
        self._settled()
        plan = self._planner.next_batch(self._broker, self.progress, self._clock())
        if plan.is_empty and self._is_publishing:
            # What is being published may be read here again. And where nothing is due all results can be seen.
            self.publish()
            plan = self._planner.next_batch(self._broker, self.progress, self._clock())
        return plan

    def parcels(self, plan: BatchPlan) -> list[Parcel]:
        """What the tasks of the batch are given to read."""
        return self._planner.parcels(plan)

    def begin(self, reading_seconds: float | None = None) -> BatchOrder:
        """What the tasks of the next batch have to know; FencedError where another process has taken over.

        ``reading_seconds`` limits what they read where no setting does.
        """
        application, broker = self.application, self._broker
        check_topics(application, broker.topics())
        gone = deleted_changelogs(self.progress, broker)
        if gone:
            raise not_its_changelogs(application, gone)
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
        return BatchOrder(
            batch_id=self.progress.batch_id + 1,
            epoch=self.lease.epoch,
            now_ms=self._clock(),
            tasks=orders,
            global_ends=self._global_ends(),
            reading_seconds=reading_seconds if application.config["max.records.per.batch"] is None else None,
            state_id=self.progress.state_id,
        )

    def decide(self, batch: BatchOrder, plan: BatchPlan, parcels: Iterable[Parcel]) -> BatchReport:
        """Let everything that the visits did count at once, or raise what went wrong in one of them."""
        results = _results(parcels)
        _check_attempts(results)
        tasks = self.application.topics.task_ids()
        visited = {tasks[result.task]: result.progress for result in results}
        notes, staged = self.progress.notes(visited), [result.staged for result in results]
        offsets = offsets_by_partition(row for result in results for row in result.offsets)
        decision = Decision(self.application.id, batch.epoch, batch.batch_id, staged, offsets, notes, plan.begins)
        self._make_count(decision, visited)
        waiting = {(each.topic, each.partition): each.start for each in plan.ranges if each.size}
        has_advanced = not waiting or any(at.offset != waiting.get(place, at.offset) for place, at in offsets.items())
        return self._report(batch, results, has_advanced=has_advanced)

    def publish(self) -> None:
        """Wait until readers see everything that is decided."""
        self._broker.publish(self.lease.application, self.lease.epoch)
        self._is_publishing = False

    def renew(self) -> None:
        """Hold the application and its directory for another while; FencedError where another process took it over."""
        self.lease.renew()
        self._hold.mark_used()

    def close(self) -> None:
        """Give the application back. Stores in memory end with it, unless another process runs it by now."""
        try:
            self.lease.renew()
            is_ours = True
        except BrokerError:  # fenced, or it cannot be known: it may not answer, or its disk is full
            is_ours = False
        if is_ours and self._is_publishing:
            self._publish_last()
        self._memory.release(is_ours=is_ours)
        self._hold.release()
        try:
            self.lease.release()
        except BrokerError as error:
            log.warning(
                "%s was not given back: whoever runs it next takes it. %s", self.lease.application, in_short(error)
            )

    def _publish_last(self) -> None:
        try:
            self.publish()
        except HeadraceError as error:
            log.warning(
                "what %s decided last is published by its next start: %s", self.lease.application, in_short(error)
            )

    def _report(self, batch: BatchOrder, results: list[VisitResult], *, has_advanced: bool) -> BatchReport:
        dropped: Counter[str] = Counter()
        restored: Counter[tuple[str, str, int]] = Counter()
        for result in results:
            dropped.update(result.dropped)
            restored.update({(store, topic, number): count for store, topic, number, count in result.restored})
            for lost in result.lost:
                log.warning("%s", lost)
                dropped[_LOST] += lost.end - lost.start
        return BatchReport(
            batch_id=batch.batch_id,
            records=sum(result.records for result in results),
            written=sum(result.written for result in results),
            duration_ms=self._clock() - batch.now_ms,
            visits=len(results),
            dropped=dropped,
            restored=restored,
            reading_seconds=sum(result.reading_seconds for result in results),
            working_seconds=sum(result.working_seconds for result in results),
            has_advanced=has_advanced,
            lost=tuple(lost for result in results for lost in result.lost),
        )

    def _global_ends(self) -> list[tuple[str, int, int]]:
        topics = self.application.topics.global_topics
        if not topics:
            return []
        counts = self._broker.topics()
        partitions = [(topic, number) for topic in topics for number in range(counts[topic])]
        return [(*partition, end) for partition, end in self._broker.end_offsets(partitions).items()]

    def _taken_over(self, application: Application) -> Application:
        """Make the state there is its own, and note that from here on it is, even if it never runs a batch."""
        has_run, before = self.progress.fingerprint is not None, self.progress.tasks
        found = take_over(application, self.progress, self._broker, self.lease.epoch)
        notes = self.progress.notes_of_upgrade(found.tasks)
        if found.is_from_kafka_streams:
            log.info("the application %s was run by Kafka Streams last: going on from there", application.id)
        if found.is_from_kafka_streams or (has_run and (found.tasks is not before or self.progress.has_changed)):
            for change in found.upgrade.changes:
                log.info("the topology has changed: %s", change)
            for change in found.upgrade.left:
                log.warning("%s. %s.", change, change.hint)
            batch_id = self.progress.batch_id + 1
            self._make_count(Decision(application.id, self.lease.epoch, batch_id, notes=notes), found.tasks)
        return found.application

    def _make_count(self, decision: Decision, tasks: Mapping[TaskId, TaskProgress]) -> None:
        """Decide what the tasks did. Only what counts is part of the progress."""
        outcome = self._broker.decide(decision)
        self._in_doubt = decision, tasks
        if self._settled(outcome) is Outcome.NOT_DONE:
            message = f"the broker did not take batch {decision.batch_id} of {decision.application}"
            raise NotDecidedError(message, hint="Nothing of it counts: run the batch again.")

    def _settled(self, outcome: Outcome = Outcome.UNKNOWN) -> Outcome:
        """What became of the last decision; it is asked for where nobody knows. One that counts begins to be seen."""
        if self._in_doubt is not None:
            decision, tasks = self._in_doubt
            for seconds in ASK_SECONDS:
                if outcome is not Outcome.UNKNOWN:
                    break
                time.sleep(seconds)
                outcome = self._broker.outcome(decision)
            if outcome is Outcome.UNKNOWN:
                message = f"nobody knows whether batch {decision.batch_id} of {decision.application} counts"
                raise OutcomeUnknownError(
                    message, hint="The broker does not answer. It is asked before the next batch."
                )
            self._in_doubt = None
            if outcome is Outcome.DONE:
                self.progress.committed(decision.batch_id, tasks, decision.notes)
                self._is_publishing = True
                self._broker.begin_publishing(self.lease.application, self.lease.epoch)
        return outcome


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
