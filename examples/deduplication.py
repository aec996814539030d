"""Each event once: a processor remembers the ids of the last hour and drops what it has seen.

The store comes along with the processor, so that `process(Deduplicate)` is all a program needs to say.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from headrace import (
    KeyValueStore,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    StreamsBuilder,
    Topology,
    TopologyTestDriver,
    serdes,
    stores,
)

MINUTE = 60_000
REMEMBER = timedelta(hours=1)


class Deduplicate(Processor):
    @staticmethod
    def stores() -> Iterable[Any]:
        return [stores.key_value(stores.persistent("seen"), value_serde=serdes.long())]

    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.seen: KeyValueStore = context.store("seen")
        context.schedule(REMEMBER / 4, PunctuationType.STREAM_TIME, self.forget)

    def process(self, record: Record[str, Any]) -> None:
        if self.seen.put_if_absent(record.key, record.timestamp) is None:
            self.context.forward(record)

    def forget(self, now: int) -> None:
        oldest = now - REMEMBER // timedelta(milliseconds=1)
        with self.seen.all() as entries:
            old = [event_id for event_id, timestamp in entries if timestamp < oldest]
        for event_id in old:
            self.seen.delete(event_id)


def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("events").process(Deduplicate).to("unique-events")
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        events = driver.create_input_topic("events")
        for minute, event_id in ((0, "e1"), (1, "e2"), (2, "e1"), (59, "e2"), (80, "e3"), (81, "e1")):
            events.pipe_input(event_id, f"sent at {minute} min", timestamp=minute * MINUTE)
        for record in driver.create_output_topic("unique-events"):
            print(f"{record.key}: {record.value}")
