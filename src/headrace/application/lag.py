"""How much of its topics an application has yet to read, before its first commit as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.application.resets import Reset

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.broker.port import Log, TopicPartition


def lags(application: Application, broker: Log) -> dict[TopicPartition, int]:
    """Offsets still to be read, by partition.

    A topic that nothing was committed for yet counts whole where it will be read from its beginning; one with another
    reset policy counts from its first commit on.
    """
    found = broker.lag(application.id)
    begun, there = {topic for topic, _ in found}, broker.topics()
    whole = [
        (topic, number)
        for topic, policy in application.reset_policies().items()
        if topic not in begun and policy.reset is Reset.EARLIEST
        for number in range(there.get(topic, 0))
    ]
    starts, ends = broker.start_offsets(whole), broker.end_offsets(whole)
    return found | {partition: ends[partition] - starts[partition] for partition in whole}
