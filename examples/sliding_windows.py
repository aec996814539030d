"""Sliding windows: three failed logins within ten seconds raise an alert, wherever the ten seconds begin.

A window exists for every stretch of ten seconds in which something comes in or goes out; both its ends belong to it.
"""

from datetime import timedelta

from headrace import SlidingWindows, StreamsBuilder, Topology, TopologyTestDriver

SECOND = 1000


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("failed-logins")
        .group_by_key()
        .windowed_by(SlidingWindows(timedelta(seconds=10), grace=timedelta(seconds=5)))
        .count("failures")
        .to_stream()
        .filter(lambda window, count: count >= 3)
        .map(lambda window, count: (window.key, f"{count} from {window.start} to {window.end}"))
        .to("alerts")
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        failures = driver.create_input_topic("failed-logins")
        for second in (20, 24, 28, 45):
            failures.pipe_input("mallory", "wrong password", timestamp=second * SECOND)
        failures.pipe_input("anna", "wrong password", timestamp=46 * SECOND)
        for record in driver.create_output_topic("alerts"):
            print(f"{record.key}: {record.value}")
