"""Records that count together, and only while the lease of whoever writes them is its own."""

from __future__ import annotations

import time
from collections.abc import Sequence

from headrace.broker.port import Broker, Decision, Lease, NewRecord, Outcome
from headrace.broker.producers import StickyPartitioner
from headrace.clock import now_ms
from headrace.errors import NotDecidedError, OutcomeUnknownError

_TRIES = 5
_PAUSE_SECONDS = 0.2


def decide(broker: Broker, lease: Lease, records: Sequence[NewRecord] = ()) -> None:
    """Append the records, all or none of them; FencedError where the lease is another process's by now."""
    number = decided(broker, lease.application) + 1
    partition_of, counts, now = StickyPartitioner(), broker.topics(), now_ms()
    with broker.stage(lease.application, lease.epoch, number, "sql") as stage:
        for record in records:
            partition = partition_of(record, counts[record.topic])
            timestamp = now if record.timestamp is None else record.timestamp
            stage.append(record.topic, partition, timestamp, record.key, record.value, record.headers)
        staged = stage.finish()
    decision = Decision(lease.application, lease.epoch, number, [staged])
    outcome = _outcome(broker, decision)
    if outcome is Outcome.UNKNOWN:
        message = f"nobody knows whether what {lease.application} wrote counts"
        raise OutcomeUnknownError(
            message, hint="The broker does not answer. Look whether it is there before you repeat it."
        )
    if outcome is Outcome.NOT_DONE:
        message = f"the broker did not take what {lease.application} wrote"
        raise NotDecidedError(message, hint="Nothing of it counts: try it again.")
    broker.publish(lease.application, lease.epoch)


def decided(broker: Broker, application: str) -> int:
    """The number of the last decision; -1 before the first."""
    last = broker.last_decided(application)
    return -1 if last is None else last.batch_id


def _outcome(broker: Broker, decision: Decision) -> Outcome:
    outcome = broker.decide(decision)
    for _ in range(_TRIES):
        if outcome is not Outcome.UNKNOWN:
            break
        time.sleep(_PAUSE_SECONDS)
        outcome = broker.outcome(decision)
    return outcome
