"""The journal: what statements changed, in the order in which they did, in a topic of the broker.

Whoever opens the database reads it from the beginning and knows all streams, tables, types and queries. The number of a
query is the place of its statement in the journal, so no two ever have the same.

Processes write in turns. Each entry is a decision of whoever has the turn: a process that slept while another one took
the turn over writes nothing any more.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from headrace.broker.port import Broker, Lease, NewRecord
from headrace.clock import now_ms
from headrace.database.deciding import decide
from headrace.database.names import NOTE, Names
from headrace.database.positions import Starts
from headrace.errors import CorruptLogError, LeaseHeldError, TopicExistsError
from headrace.lifecycle.signals import signals_later
from headrace.sql.engine.ports import NewRecord as InsertedRecord
from headrace.sql.planning.as_json import plan_as_json, plan_from_json
from headrace.sql.planning.plans import StatementPlan
from headrace.sql.tree.statements import Parsed, QueryAction

FindStarts: TypeAlias = Callable[[StatementPlan, Mapping[str, Any]], Starts]
_VERSION = 1
_WAIT_SECONDS = 10.0
_LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Entry:
    """What one statement changed: a plan that was applied, or queries that were controlled.

    One that has neither tells that a script got past a statement. ``script`` is the file that it stood in.
    """

    statement: str
    plan: StatementPlan | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    action: QueryAction | None = None
    query_ids: tuple[str, ...] = ()
    script: str | None = None
    starts: Starts = field(default_factory=dict)
    """From where the query of the plan reads, where that is the end of a topic."""

    def to_bytes(self) -> bytes:
        """As the topic has it."""
        written = {
            "version": _VERSION,
            "statement": self.statement,
            "plan": None if self.plan is None else plan_as_json(self.plan),
            "settings": dict(self.settings),
            "action": None if self.action is None else self.action.value,
            "queryIds": list(self.query_ids),
            "script": self.script,
            "starts": dict(self.starts),
        }
        return json.dumps(written, ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, text: bytes) -> Entry:
        """What ``to_bytes`` wrote; ValueError for anything else."""
        try:
            node = json.loads(text)
            if node["version"] != _VERSION:
                message = f"it is of version {node['version']}"
                raise ValueError(message)
            return cls(
                node["statement"],
                None if node["plan"] is None else plan_from_json(node["plan"]),
                node["settings"],
                None if node["action"] is None else QueryAction(node["action"]),
                tuple(node["queryIds"]),
                node["script"],
                node["starts"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(str(error)) from error


class Journal:
    """The journal of one database, as one process reads and writes it."""

    def __init__(self, broker: Broker, names: Names, starts: FindStarts) -> None:
        """``starts`` says from where the query of a plan that is written down reads."""
        self._starts = starts
        self.topic = names.journal
        self._broker, self._writer = broker, names.writer
        self._position = 0
        self._lease: Lease | None = None
        self._own: list[bytes] = []
        """Entries that this process has applied and not met again while reading."""
        self._make_topic()

    @property
    def next_number(self) -> int:
        """The place of the next entry."""
        return self._broker.end_offsets([(self.topic, 0)])[self.topic, 0]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Let no other process write while something is planned and written down. It waits for its turn."""
        if self._lease is not None:
            yield
            return
        try:
            try:
                self._take_turn()
                yield
            finally:
                self._give_turn_back()
        finally:
            # Ctrl-C may have come before the first try to give it back.
            self._give_turn_back()

    def write(self, records: Sequence[NewRecord]) -> None:
        """Append records to any topics, all or none of them; FencedError where another process has the turn now."""
        with self.writing():
            assert self._lease is not None
            decide(self._broker, self._lease, records)

    def unread(self) -> Iterator[Entry]:
        """What this process has not applied; each entry counts as read when the next one is asked for."""
        while self._position < (end := self.next_number):
            for records in self._broker.read(self.topic, 0, self._position, end):
                for record in records:
                    if not self._is_own(record[5] or b""):
                        yield self._read(record[2], record[5] or b"")
                    self._position = record[2] + 1
            self._position = max(self._position, end)

    # What the engine tells

    def planned(
        self, plan: StatementPlan, settings: Mapping[str, Any], script: str | None
    ) -> AbstractContextManager[None]:
        """Write down a plan that is applied in the block. Call it inside ``writing``, with everything read."""
        starts = self._starts(plan, settings)
        return self._written(Entry(plan.statement_text, plan, settings, script=script, starts=starts))

    def controlled(self, action: QueryAction, query_ids: Sequence[str], parsed: Parsed) -> AbstractContextManager[None]:
        """Write down what happens to queries in the block. Call it inside ``writing``, with everything read."""
        return self._written(Entry(parsed.text, action=action, query_ids=tuple(query_ids), script=parsed.script))

    def beside(self, parsed: Parsed) -> Sequence[tuple[str, InsertedRecord]]:
        """What tells that a script is past a statement: it is written in one step with what the statement writes."""
        if parsed.script is None:
            return ()
        entry = Entry(parsed.text, script=parsed.script)
        return ((self.topic, InsertedRecord(None, entry.to_bytes(), now_ms())),)

    @contextmanager
    def _written(self, entry: Entry) -> Iterator[None]:
        text = entry.to_bytes()
        self.write([NewRecord(self.topic, None, text, partition=0)])
        # An interrupt leaves an entry that is read, and applied, as if another process had written it.
        yield
        # On Kafka it may be a moment until it can be read: it is met when that is so.
        self._own.append(text)

    def _is_own(self, text: bytes) -> bool:
        if text not in self._own:
            return False
        self._own.remove(text)
        return True

    def _take_turn(self) -> None:
        """Taken when nobody has it. Who keeps it too long loses it, where the broker fences."""
        until = time.monotonic() + _WAIT_SECONDS
        while self._broker.lease_owner(self._writer) is not None and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
        while True:
            try:
                # Whoever takes it has it: an interrupt must not come between.
                with signals_later():
                    self._lease = self._broker.acquire_lease(self._writer, note=NOTE)
                return
            except LeaseHeldError:
                if time.monotonic() > until:
                    raise
                time.sleep(_LOOK_SECONDS)

    def _give_turn_back(self) -> None:
        with signals_later():
            lease, self._lease = self._lease, None
            if lease is not None:
                lease.release()

    def _read(self, offset: int, text: bytes) -> Entry:
        try:
            return Entry.from_bytes(text)
        except ValueError as error:
            message = f"the journal {self.topic} cannot be read at offset {offset}"
            hint = "Was it written by a later version, or by another program?"
            raise CorruptLogError(message, detail=str(error), hint=hint) from error

    def _make_topic(self) -> None:
        if self.topic not in self._broker.topics():
            try:
                self._broker.create_topic(self.topic, 1, {"cleanup.policy": "delete", "retention.ms": -1})
            except TopicExistsError:
                return  # Another process was faster.
