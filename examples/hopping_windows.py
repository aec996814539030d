"""Hopping windows overlap: the mean of the last twenty seconds, anew every five.

A record falls into every window that holds its timestamp, four of them here, fewer at the beginning of time.
"""

from datetime import timedelta

from headrace import StreamsBuilder, TimeWindows, Topology, TopologyTestDriver, serdes

SECOND = 1000


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("temperatures", value_serde=serdes.double())
        .group_by_key()
        .windowed_by(TimeWindows(timedelta(seconds=20), advance=timedelta(seconds=5)))
        .aggregate(
            lambda: {"sum": 0.0, "count": 0},
            lambda sensor, value, mean: {"sum": mean["sum"] + value, "count": mean["count"] + 1},
            "sums",
            value_serde=serdes.json(),
        )
        .map_values(lambda mean: mean["sum"] / mean["count"])
        .to_stream(lambda window, mean: f"{window.key} [{window.start // SECOND}, {window.end // SECOND})")
        .to("means", value_serde=serdes.double())
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        temperatures = driver.create_input_topic("temperatures", value_serde=serdes.double())
        temperatures.pipe_input("kiln", 10.0, timestamp=2 * SECOND)
        temperatures.pipe_input("kiln", 20.0, timestamp=12 * SECOND)
        temperatures.pipe_input("kiln", 60.0, timestamp=21 * SECOND)
        for record in driver.create_output_topic("means", value_serde=serdes.double()):
            print(f"{record.key:16} {record.value:5.1f}")
