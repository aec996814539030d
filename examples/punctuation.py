"""Two clocks: punctuation by stream time, which only records move, and by wall-clock time, which always runs.

Stream time drives the report: so many heartbeats in ten seconds of data, the same at every replay. The wall clock
drives the alarm: silence brings no records, so only the wall clock can notice it.
"""

from datetime import timedelta
from typing import Any

from headrace import (
    KeyValueStore,
    Processor,
    ProcessorContext,
    PunctuationType,
    Record,
    Topology,
    TopologyTestDriver,
    serdes,
    stores,
)

SECOND = 1000
SILENCE = timedelta(seconds=30)


class Watch(Processor):
    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.last_seen: KeyValueStore = context.store("last-seen")
        self.beats = 0
        context.schedule(timedelta(seconds=10), PunctuationType.STREAM_TIME, self.report)
        context.schedule(timedelta(seconds=5), PunctuationType.WALL_CLOCK_TIME, self.alarm)

    def process(self, record: Record[str, Any]) -> None:
        self.beats += 1
        self.last_seen.put(record.key, self.context.current_system_time_ms)

    def report(self, stream_time: int) -> None:
        self.context.forward(Record("report", f"{self.beats} heartbeats", stream_time))
        self.beats = 0

    def alarm(self, wall_clock: int) -> None:
        with self.last_seen.all() as devices:
            silent = [device for device, seen in devices if wall_clock - seen >= SILENCE / timedelta(milliseconds=1)]
        for device in silent:
            self.context.forward(Record("alarm", f"{device} is silent", wall_clock))
            self.last_seen.delete(device)


def build() -> Topology:
    last_seen = stores.key_value(stores.in_memory("last-seen"), value_serde=serdes.long())
    return (
        Topology()
        .add_source("heartbeats", ["heartbeats"])
        .add_processor("watch", Watch, parents="heartbeats")
        .add_state_store(last_seen, processors="watch")
        .add_sink("notes", "notes", parents="watch")
    )


if __name__ == "__main__":
    with TopologyTestDriver(build(), wall_clock_ms=0) as driver:
        heartbeats = driver.create_input_topic("heartbeats")
        for second in (0, 4, 8, 12):
            heartbeats.pipe_input("pump", "ok", timestamp=second * SECOND)
        driver.advance_wall_clock_time(timedelta(seconds=20))
        heartbeats.pipe_input("valve", "ok", timestamp=13 * SECOND)
        driver.advance_wall_clock_time(timedelta(seconds=15))
        for record in driver.create_output_topic("notes"):
            print(f"{record.key} at {record.timestamp // SECOND}s: {record.value}")
