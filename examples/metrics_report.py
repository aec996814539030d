"""Metrics: what every node, task and store did, by Kafka Streams' names. Two of the many are shown."""

from headrace import StreamsBuilder, Topology, TopologyTestDriver, serdes

CONFIG = {"application.id": "measured", "metrics.recording.level": "DEBUG"}
SHOWN = ("process-total", "dropped-records-total")


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("readings", value_serde=serdes.long(), name="readings")
        .filter(lambda sensor, value: value >= 0, name="valid")
        .group_by_key()
        .count("per-sensor", name="count")
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build(), CONFIG) as driver:
        readings = driver.create_input_topic("readings", value_serde=serdes.long())
        readings.pipe_key_value_list([("a", 1), ("a", -1), ("b", 2), (None, 3)])
        for metric, value in sorted(driver.metrics().items(), key=str):
            if metric.name in SHOWN:
                print(f"{metric.name:22} {value:5.1f}  {dict(metric.tags)}")
