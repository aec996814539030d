"""The cache in front of a table: of many updates between two commits only the last goes on.

The test driver commits after each record, so the updates come in one record here: a day's prices in one line.
`statestore.cache.max.bytes` sets the size of all caches; 0 turns them off.
"""

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes


def build() -> Topology:
    builder = StreamsBuilder()
    ticks = (
        builder.stream("ticks")
        .flat_map_values(lambda line: [float(price) for price in line.split()])
        .group_by_key(value_serde=serdes.double())
    )
    for topic, caching in (("with-cache", True), ("without-cache", False)):
        ticks.reduce(lambda old, new: new, f"{topic}-store", caching=caching).to_stream().to(topic)
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        ticks = driver.create_input_topic("ticks")
        ticks.pipe_input("YERB", "105.24 105.36 105.01")
        ticks.pipe_input("NDLE", "33.56")
        for topic in ("with-cache", "without-cache"):
            output = driver.create_output_topic(topic, value_serde=serdes.double())
            print(f"{topic:14}", output.read_key_values_to_list())
