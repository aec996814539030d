"""Whether queries have processed everything there is, also what they write for each other."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from headrace.broker.port import Log, TopicPartition
from headrace.streams import Streams

_READABLE_SECONDS = 30.0
_PAUSE_SECONDS = 0.01


def run_until_idle(apps: Mapping[str, Streams], topics: Collection[str], log: Log) -> None:
    """Wait until the applications are idle, all of them since the last record came into the topics that they read.

    One that has failed is not waited for.
    """
    running = [app for app in apps.values() if not app.is_paused]
    ends = None
    while ends != (ends := readable_ends(log, topics)):
        for app in running:
            _until_idle(app)


def readable_ends(log: Log, topics: Collection[str]) -> Mapping[TopicPartition, int]:
    """Where the topics end, when everything that is written can be read: on Kafka that is a little later.

    A transaction that somebody else leaves open is not waited for without end.
    """
    until = time.monotonic() + _READABLE_SECONDS
    while True:
        known = log.topics()
        described = [log.describe_topic(topic) for topic in topics if topic in known]
        written = {(each.name, part.partition): part.next_offset for each in described for part in each.partitions}
        ends = log.end_offsets(written)
        if ends == written or time.monotonic() > until:
            return ends
        time.sleep(_PAUSE_SECONDS)


def _until_idle(app: Streams) -> None:
    """Wait for one of them; for none that has ended."""
    if app.state.is_running_or_rebalancing:
        try:
            app.run_until_idle()
        except Exception:
            if app.failure is None:
                raise
