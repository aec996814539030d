"""An application that this process owns: its session, and what it decides and publishes in it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from headrace.broker.kafka import crash_points
from headrace.broker.kafka.chunks import Chunk
from headrace.broker.kafka.control import (
    MARK,
    OWNER,
    PUBLISHED,
    ControlReader,
    ControlState,
    DecisionRecord,
    MarkRecord,
    OwnerRecord,
    decision_records,
)
from headrace.broker.kafka.held_group import HeldGroup, are_by_streams, moves, overtaken, told
from headrace.broker.kafka.sending import Sender, chunks_of
from headrace.broker.kafka.staging import Staged, staged_of
from headrace.broker.kafka.staging_sweep import sweep_batches
from headrace.broker.kafka.transactions import Session
from headrace.broker.port import Decision, OffsetAndMetadata, Outcome
from headrace.broker.port import TopicPartition as Place
from headrace.errors import (
    ArgumentError,
    BrokerUnreachableError,
    FencedError,
    IllegalStateError,
    InternalError,
    in_short,
)
from headrace.failpoints import reach

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from headrace.broker.kafka.clients import Clients
    from headrace.broker.kafka.staging_directory import StagingDirectory

log = logging.getLogger(__name__)

DIRECT = -1
"""The number of the mark for what is published together with its decision."""
_TRIES = 5


def driver_id(application: str) -> str:
    """The transactional id of whoever decides."""
    return f"{application}-headrace-driver"


def fenced(application: str, epoch: int, owner: OwnerRecord | None) -> FencedError:
    """The error of who was replaced."""
    message = f"application {application} was taken over: epoch {epoch} may no longer commit"
    if owner is None or owner.is_released:
        return FencedError(message, detail="Nobody holds its lease now.", hint="Start the application again.")
    detail = f"Epoch {owner.epoch} belongs to process {owner.pid} on host {owner.host}."
    return FencedError(message, detail=detail, hint="Stop this process.")


class OwnedApplication:
    """What the owner has in its hands. Made by ``take``; its methods raise FencedError once another process has it."""

    def __init__(
        self, clients: Clients, reader: ControlReader, directory: StagingDirectory, held: dict[str, list[Chunk]]
    ) -> None:
        self.application, self.reader = reader.application, reader
        self._clients, self._directory, self._held = clients, directory, held
        self._session = Session(clients, driver_id(self.application), reader.topic, self._check)
        self._group = HeldGroup(clients, self.application)
        self._lock = threading.RLock()
        self._last = -1
        """The last batch that was decided."""
        self._unpublished: DecisionRecord | None = None
        self._ends: dict[str, dict[int, int]] = {}
        """Where changelogs end, by what was published with decisions."""
        self.record: OwnerRecord | None = None
        self.committed: dict[Place, OffsetAndMetadata] = {}
        """How far the application has read, by what it has decided."""

    @property
    def epoch(self) -> int:
        """That of our lease."""
        return -1 if self.record is None else self.record.epoch

    @property
    def uncommitted_offsets(self) -> dict[Place, OffsetAndMetadata]:
        """Those of the last decision, where they are not committed yet."""
        return {} if self._unpublished is None else self._unpublished.committed

    def take(self, record_for: Callable[[int], OwnerRecord], fence_publishers: Callable[[], None]) -> OwnerRecord:
        """Fence whoever had it, and write down that it is ours; ``record_for`` is given the last epoch."""
        for _ in range(_TRIES):
            self._session.begin()
            fence_publishers()
            state = self.reader.definite()
            record = record_for(0 if state.owner is None else state.owner.epoch)
            if self._write_owner(record) is Outcome.DONE or self._is_written(record):
                break
        else:
            message = f"cannot become the owner of {self.application}: the broker does not answer"
            raise BrokerUnreachableError(message)
        self.record = record
        self._adopt(state)
        return record

    def heed_moves(self, found: Mapping[Place, OffsetAndMetadata]) -> None:
        """Look where the group is, ``found``, before the decision is published that a crash left unpublished.

        Who moves offsets by hand while the application is down (``kafka-consumer-groups --reset-offsets``) wants it to
        go on from there, and it does. The batch counts all the same: it is published, with the offsets left as they
        were set. Its input is read once more, then, after a move back, also to before what it began with where nothing
        was committed; a move forward to what it has read already leads to its end. Offsets that are gone were not
        moved: Kafka forgets those of a group that rests for a week.

        Kafka Streams, which knows neither our decisions nor our staged output, begins where the batch began: published
        after that, it would count twice, and is refused. Its offsets have metadata, those that are set by hand none.
        """
        decision = self._unpublished
        if decision is None:
            return
        self._group.know(found)
        begins = decision.begins
        moved = moves(begins, {place: found[place] for place in begins.keys() & found.keys()})
        if not moved:
            return
        text = told(begins, moved)
        if are_by_streams(moved):
            self.release()
            raise overtaken(self.application, decision.batch_id, text, self._clients.address)
        log.warning("offsets of %s were set by hand since batch %d: %s", self.application, decision.batch_id, text)
        left = [
            each
            for each in decision.offsets
            if each[:2] not in moved or begins[each[:2]] < moved[each[:2]].offset <= each[2]
        ]
        self._unpublished = msgspec.structs.replace(decision, offsets=left)

    def add_committed(self, offsets: Mapping[Place, OffsetAndMetadata]) -> None:
        """That is where the group is now, and the application goes on."""
        self.committed.update(offsets)
        self._group.know(offsets)

    def release(self) -> None:
        """Write down that nobody owns it any more."""
        with self._lock:
            record, self.record = self.record, None
            if record is None:
                return
            released = msgspec.structs.replace(record, is_released=True)
            try:
                self.record = record
                self._write_owner(released)
            except FencedError:
                log.info("application %s is another process's by now", self.application)
            finally:
                self.discard()

    def _write_owner(self, record: OwnerRecord) -> Outcome:
        data = msgspec.msgpack.encode(record)
        return self._session.run(
            lambda producer: self._send_control(producer, [(OWNER, data)]), crash_points.BEFORE_OWNER
        )

    def _is_written(self, record: OwnerRecord) -> bool:
        self._session.begin()
        owner = self.reader.definite().owner
        return owner is not None and owner.token == record.token

    def discard(self) -> None:
        """Let go without a word: whoever comes next fences us."""
        self.record = None
        self._session.discard()
        self._group.close()

    def renew(self) -> None:
        """FencedError where another process took over."""
        self._check_owner(self.reader.catch_up())

    def decide(self, decision: Decision) -> Outcome:
        """Let a batch count, and publish it in the same transaction where all of it is at hand."""
        with self._lock:
            if self._is_repeated(decision):
                return Outcome.DONE
            self._publish_rest()
            staged = [each for each in map(staged_of, decision.staged) if each.records and not each.is_sent]
            is_direct = all(each.is_held or each.inline is not None for each in staged)
            if not is_direct and any(each.is_held for each in staged):
                raise InternalError("a batch has output in files and in the memory of its driver")
            try:
                return self._decide(decision, staged, is_direct=is_direct)
            finally:
                self._held.clear()

    def outcome(self, decision: Decision) -> Outcome:
        """What became of it; the new session waits until that is definite."""
        with self._lock:
            try:
                self._session.begin()
                state = self.reader.definite()
            except BrokerUnreachableError:
                self._session.discard()
                return Outcome.UNKNOWN
            self._check_owner(state)
            self._adopt(state)
            if self._last < decision.batch_id:
                return Outcome.NOT_DONE
            self._counts(decision)
            return Outcome.DONE

    def begin_publishing(self, finish_parts: Callable[[int], None]) -> None:
        """``publish`` in a thread. Whoever decides or publishes next waits for it, or comes first."""
        if self._unpublished is not None:
            name = f"headrace-publication-{self._unpublished.batch_id}"
            threading.Thread(target=self._publish_beside, args=(finish_parts,), name=name, daemon=True).start()

    def publish(self, finish_parts: Callable[[int], None]) -> None:
        """Have everything published that is decided. ``finish_parts`` sees to all parts of a batch but the offsets."""
        with self._lock:
            if self._unpublished is None:
                return
            decision = self._unpublished
            finish_parts(decision.batch_id)
            self._commit_offsets(decision)
            reach(crash_points.PUBLISHED)
            self._unpublished = None
            # With them those of attempts that failed.
            sweep_batches(self._directory, self.application, decision.epoch, decision.batch_id)
            reach(crash_points.SWEPT)

    def _publish_beside(self, finish_parts: Callable[[int], None]) -> None:
        try:
            self.publish(finish_parts)
        except Exception as error:
            # Nobody is told here: the next decision needs it done, tries it again, and raises what is in the way.
            log.info("what was decided of %s is published later: %s", self.application, in_short(error))

    def _decide(self, decision: Decision, staged: list[Staged], *, is_direct: bool) -> Outcome:
        handovers = [] if is_direct else [msgspec.msgpack.encode(each) for each in staged]
        record = self._record(decision, len(handovers))
        records = list(decision_records(record, decision.notes, handovers))

        def write(producer: Producer) -> None:
            if is_direct:
                self._send(producer, record, staged, records)
            else:
                self._send_control(producer, records)
                # As they are. The new ones follow when all is published.
                self._group.commit(producer, self._begins(decision), record.begins)

        outcome = self._session.run(write, crash_points.BEFORE_DECISION)
        if outcome is Outcome.DONE:
            self._last = decision.batch_id
            if handovers:
                self._unpublished = record
            self._counts(decision)
            reach(crash_points.DECIDED)
        return outcome

    def _publish_rest(self) -> None:
        if self._unpublished is not None:
            message = f"batch {self._unpublished.batch_id} of {self.application} is not published yet"
            raise IllegalStateError(message, hint="Publish it before the next decision.")

    def _record(self, decision: Decision, stages: int) -> DecisionRecord:
        offsets, begins = [(*place, *at) for place, at in decision.offsets.items()], self._begins(decision)
        before = [(*place, begins[place].offset if place in begins else -1) for place in decision.offsets]
        return DecisionRecord(decision.batch_id, decision.epoch, offsets, stages, before)

    def _begins(self, decision: Decision) -> dict[Place, OffsetAndMetadata]:
        """Where the group is that it reads from, and where it has committed nothing where the batch began."""
        first = {place: OffsetAndMetadata(at) for place, at in decision.begins.items()}
        known = {**first, **self.committed}
        return {place: known[place] for place in decision.offsets if place in known}

    def _counts(self, decision: Decision) -> None:
        """It was decided: the application has read so far, and the group follows when all is published."""
        self._group.know(decision.offsets if self._unpublished is None else self._begins(decision))
        self.committed.update(decision.offsets)

    def _is_repeated(self, decision: Decision) -> bool:
        if decision.batch_id < 0:
            message = f"a batch id is 0 or more, found {decision.batch_id}"
            raise ArgumentError(message)
        if decision.batch_id < self._last:
            message = f"application {self.application} decided batch {self._last}: batch {decision.batch_id} is too old"
            hint = "Did two processes use one lease? Reset the application (headrace reset)."
            raise IllegalStateError(message, hint=hint)
        return decision.batch_id == self._last

    def _adopt(self, state: ControlState) -> None:
        """Go on from what the topic says."""
        self._last = -1 if state.decision is None else state.decision.batch_id
        self._unpublished = state.unpublished
        mark = state.marks.get(DIRECT)
        self._ends = {} if mark is None else mark.ends

    def _send(
        self,
        producer: Producer,
        decision: DecisionRecord,
        staged: list[Staged],
        records: Iterable[tuple[bytes, bytes | None]],
    ) -> None:
        """Everything of a batch: its records, the decision, where changelogs end, and the offsets of the group."""
        sender = Sender(self._clients, producer, f"{self.application}-")
        for each in staged:
            sender.send(chunks_of(each, self._directory, self._held))
        sender.flush(self._clients.timeout)
        # What a transaction that was given up wrote is no harm here: changelogs end after it.
        self._ends = merged(self._ends, sender.ends)
        mark = MarkRecord(decision.batch_id, self._ends)
        self._send_control(producer, [(MARK + str(DIRECT).encode(), msgspec.msgpack.encode(mark))])
        self._send_control(producer, records)
        self._send_offsets(producer, decision)

    def _send_control(self, producer: Producer, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        for key, value in records:
            producer.produce(self.reader.topic, value, key, 0)

    def _send_offsets(self, producer: Producer, decision: DecisionRecord) -> None:
        self._send_control(producer, [(PUBLISHED, msgspec.msgpack.encode(decision.batch_id))])
        self._group.commit(producer, decision.committed, decision.begins)

    def _commit_offsets(self, decision: DecisionRecord) -> None:
        for _ in range(_TRIES):
            outcome = self._session.run(
                lambda producer: self._send_offsets(producer, decision), crash_points.BEFORE_OFFSETS
            )
            if outcome is not Outcome.DONE:
                self._session.begin()
            if outcome is Outcome.DONE or self.reader.definite().published >= decision.batch_id:
                self._group.know(decision.committed)
                return
        message = f"the offsets of {self.application} cannot be committed: the broker does not answer"
        raise BrokerUnreachableError(message)

    def _check(self) -> None:
        """Whether a new session may go on."""
        if self.record is not None:
            self._check_owner(self.reader.definite())

    def _check_owner(self, state: ControlState) -> None:
        """What is not in the topic yet is our own record: the owner before us has a lower epoch."""
        record, owner = self.record, state.owner
        if record is None:
            raise fenced(self.application, -1, owner)
        if owner is not None and owner.epoch >= record.epoch and owner.token != record.token:
            raise fenced(self.application, record.epoch, owner)


def merged(before: dict[str, dict[int, int]], now: dict[str, dict[int, int]]) -> dict[str, dict[int, int]]:
    """The ends of changelogs, brought up to date."""
    return {topic: {**before.get(topic, {}), **now.get(topic, {})} for topic in {**before, **now}}
