"""Only the final result: `suppress` holds the updates of a window back until it has closed.

Without it every record gives an update. The window of a minute closes ten seconds of stream time after its end.
The buffer writes keys with their windows, so the key's serde must be named.
"""

from datetime import timedelta

from headrace import StreamsBuilder, Suppressed, TimeWindows, Topology, TopologyTestDriver, serdes

SECOND = 1000


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("errors")
        .group_by_key(key_serde=serdes.string())
        .windowed_by(TimeWindows(timedelta(minutes=1), grace=timedelta(seconds=10)))
        .count("errors-per-minute")
        .suppress(Suppressed.until_window_closes())
        .to_stream(lambda window, count: f"{window.key}@{window.start // SECOND}s")
        .to("reports", value_serde=serdes.long())
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        errors = driver.create_input_topic("errors")
        reports = driver.create_output_topic("reports", value_serde=serdes.long())
        for second in (5, 30, 65, 50, 75):
            errors.pipe_input("web", "timeout", timestamp=second * SECOND)
            print(f"at {second:>2}s: {reports.read_key_values_to_map() or 'nothing yet'}")
