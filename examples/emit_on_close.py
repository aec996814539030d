"""Final results without a buffer: the aggregation itself emits each window once, when it has closed.

The same results as with `suppress`, which keeps a second copy of every open window; here the window store, ordered
by time, is all there is.
"""

from datetime import timedelta

from headrace import EmitStrategy, StreamsBuilder, TimeWindows, Topology, TopologyTestDriver, serdes

SECOND = 1000


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("temperatures", value_serde=serdes.double())
        .group_by_key()
        .windowed_by(TimeWindows(timedelta(seconds=10)))
        .emit_strategy(EmitStrategy.on_window_close())
        .reduce(max, "hottest")
        .to_stream(lambda window, highest: f"{window.key}@{window.start // SECOND}s")
        .to("peaks", value_serde=serdes.double())
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        temperatures = driver.create_input_topic("temperatures", value_serde=serdes.double())
        peaks = driver.create_output_topic("peaks", value_serde=serdes.double())
        for second, value in ((1, 20.0), (4, 23.5), (8, 21.0), (12, 19.0), (31, 18.0)):
            temperatures.pipe_input("kiln", value, timestamp=second * SECOND)
            print(f"at {second:>2}s: {peaks.read_key_values_to_map() or 'nothing yet'}")
