"""Word count in the Processor API: sources, processors, a store and sinks, wired by hand.

The words pass through a topic of their own, so that each word always comes to the same task: what `group_by` does
by itself in the DSL is two lines here.
"""

from typing import Any

from headrace import KeyValueStore, Processor, ProcessorContext, Record, Topology, TopologyTestDriver, serdes, stores


class SplitIntoWords(Processor):
    def process(self, record: Record[Any, str]) -> None:
        for word in record.value.lower().split():
            self.context.forward(record.with_key(word).with_value(word))


class CountWords(Processor):
    def init(self, context: ProcessorContext) -> None:
        super().init(context)
        self.counts: KeyValueStore = context.store("word-counts")

    def process(self, record: Record[str, str]) -> None:
        count = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, count)
        self.context.forward(record.with_value(count))


def build() -> Topology:
    counts = stores.key_value(stores.persistent("word-counts"), serdes.string(), serdes.long())
    return (
        Topology()
        .add_source("lines", ["text-input"])
        .add_processor("split", SplitIntoWords, parents="lines")
        .add_sink("to-words", "words", parents="split")
        .add_source("words", ["words"])
        .add_processor("count", CountWords, parents="words")
        .add_state_store(counts, processors="count")
        .add_sink("to-counts", "word-count-output", parents="count", value_serde=serdes.long())
    )


if __name__ == "__main__":
    topology = build()
    with TopologyTestDriver(topology) as driver:
        lines = driver.create_input_topic("text-input")
        output = driver.create_output_topic("word-count-output", value_serde=serdes.long())
        lines.pipe_value_list(["all streams lead to kafka", "hello kafka streams"])
        for record in output:
            print(f"{record.key:8} {record.value}")
    print(topology.describe())
