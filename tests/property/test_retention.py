"""Retention against a list: nothing unread goes, and all that is over goes, whatever is appended and read."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord, OffsetAndMetadata
from tests.unit.broker.scene import FakeClock

RETENTION_MS = 1_000
GROUPS = ("a", "b")
TOPICS: dict[str, dict[str, object]] = {
    "kept": {"retention.ms": RETENTION_MS},
    "kafka": {"retention.ms": RETENTION_MS, "headrace.retention.unread": "delete"},
    "small": {"retention.ms": -1, "retention.bytes": 0},
    "forever": {"retention.ms": -1},
}


@dataclass
class Model:
    """One record a segment: the time from which each counts, and how far each group has read."""

    since: list[int] = field(default_factory=list)
    read: dict[str, int] = field(default_factory=dict)
    start: int = 0
    expired: int = 0

    def is_over(self, topic: str, offset: int, now: int) -> bool:
        if topic != "kafka" and any(read <= offset for read in self.read.values()):
            return False
        return topic == "small" or (topic != "forever" and now - self.since[offset] > RETENTION_MS)

    def expire(self, topic: str, now: int) -> None:
        while self.start < len(self.since) and self.is_over(topic, self.start, now):
            self.start += 1
            self.expired += 1


class RetentionMachine(RuleBasedStateMachine):
    """Random appends, commits and pauses, with the model beside it."""

    @initialize()
    def open(self) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.clock = FakeClock()
        self.broker = EmbeddedBroker(self.directory.name, fsync=False, clock=self.clock)
        for name, config in TOPICS.items():
            self.broker.create_topic(name, config=config)
        self.models = {name: Model() for name in TOPICS}

    def teardown(self) -> None:
        if hasattr(self, "broker"):
            self.broker.close()
            self.directory.cleanup()

    @rule(topic=st.sampled_from(sorted(TOPICS)), shift_ms=st.sampled_from([-900_000, -1_500, -500, 0, 700, 5_000]))
    def append(self, topic: str, shift_ms: int) -> None:
        timestamp = self.clock.now + shift_ms
        self.broker.append([NewRecord(topic, b"k", b"v", timestamp)])
        self.models[topic].since.append(max(timestamp, self.clock.now))

    @rule(topic=st.sampled_from(sorted(TOPICS)), group=st.sampled_from(GROUPS), data=st.data())
    def commit(self, topic: str, group: str, data: st.DataObject) -> None:
        model = self.models[topic]
        offset = data.draw(st.integers(0, len(model.since)))
        self.broker.commit_offsets(group, {(topic, 0): OffsetAndMetadata(offset)})
        model.read[group] = offset

    @rule(group=st.sampled_from(GROUPS))
    def forget(self, group: str) -> None:
        self.broker.delete_group(group)
        for model in self.models.values():
            model.read.pop(group, None)

    @rule(ms=st.sampled_from([1, 400, 1_001]))
    def wait(self, ms: int) -> None:
        self.clock.now += ms

    @rule()
    def expire(self) -> None:
        for topic, model in self.models.items():
            self.broker.apply_retention(topic)
            model.expire(topic, self.clock.now)

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        for topic, model in self.models.items() if hasattr(self, "models") else ():
            (found,) = self.broker.describe_topic(topic).partitions
            assert (found.start_offset, found.next_offset) == (model.start, len(model.since))
            assert found.expired_records == model.expired


TestRetention = RetentionMachine.TestCase
TestRetention.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
