"""A processor with two parents: clicks and trades meet in one store and leave together, every fifteen seconds.

A topology is a graph, not a tree. `process` only collects; the punctuation sends what has come together.
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

JSON = serdes.json()
SECOND = 1000


class Tag(Processor):
    """Says of a record which stream it came from."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def process(self, record: Record[str, Any]) -> None:
        self.context.forward(record.with_value({self.kind: record.value}))


class CoGroup(Processor):
    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.groups: KeyValueStore = context.store("groups")
        context.schedule(timedelta(seconds=15), PunctuationType.STREAM_TIME, self.send)

    def process(self, record: Record[str, dict[str, Any]]) -> None:
        group = self.groups.get(record.key) or {"clicks": [], "trades": []}
        for kind, value in record.value.items():
            group[kind].append(value)
        self.groups.put(record.key, group)

    def send(self, now: int) -> None:
        with self.groups.all() as groups:
            complete = [(key, group) for key, group in groups if group["clicks"] and group["trades"]]
        for key, group in complete:
            self.context.forward(Record(key, group, now))
            self.groups.delete(key)


def build() -> Topology:
    return (
        Topology()
        .add_source("clicks", ["events"])
        .add_source("trades", ["stock-transactions"], value_serde=serdes.long())
        .add_processor("tag-clicks", lambda: Tag("clicks"), parents="clicks")
        .add_processor("tag-trades", lambda: Tag("trades"), parents="trades")
        .add_processor("co-group", CoGroup, parents=["tag-clicks", "tag-trades"])
        .add_state_store(stores.key_value(stores.in_memory("groups"), value_serde=JSON), processors="co-group")
        .add_sink("groups", "co-grouped", parents="co-group", value_serde=JSON)
    )


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        clicks = driver.create_input_topic("events")
        trades = driver.create_input_topic("stock-transactions", value_serde=serdes.long())
        clicks.pipe_input("YERB", "news", timestamp=1 * SECOND)
        clicks.pipe_input("NDLE", "chart", timestamp=2 * SECOND)
        trades.pipe_input("YERB", 100, timestamp=5 * SECOND)
        trades.pipe_input("YERB", 40, timestamp=15 * SECOND)
        for record in driver.create_output_topic("co-grouped", value_serde=JSON):
            print(f"{record.key} at {record.timestamp // SECOND}s: {record.value}")
