"""Tumbling windows: five minutes each, without overlap; late records are welcome for three minutes more.

A window closes when *stream time*, the highest timestamp seen so far, has passed its end by the grace period.
What comes later is dropped and counted.
"""

from datetime import timedelta

from headrace import StreamsBuilder, TimeWindows, Topology, TopologyTestDriver, serdes

SIZE = timedelta(minutes=5)
WINDOW_KEY = serdes.windowed(serdes.string(), SIZE)


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("pulses")
        .group_by_key(key_serde=serdes.string())
        .windowed_by(TimeWindows(SIZE, grace=timedelta(minutes=3)))
        .count("pulse-counts")
        .to_stream()
        .to("counts")
    )
    return builder.build()


def at(minutes: int, seconds: int) -> int:
    return (60 * minutes + seconds) * 1000


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        pulses = driver.create_input_topic("pulses")
        pulses.pipe_input("anna", "A", timestamp=at(1, 30))
        pulses.pipe_input("anna", "B", timestamp=at(3, 45))
        pulses.pipe_input("anna", "C", timestamp=at(6, 20))
        pulses.pipe_input("anna", "D, late", timestamp=at(4, 50))
        pulses.pipe_input("anna", "E", timestamp=at(8, 10))
        pulses.pipe_input("anna", "F, too late", timestamp=at(2, 0))
        for record in driver.create_output_topic("counts", WINDOW_KEY, serdes.long()):
            print(f"{record.key.key} from {record.key.start // 60_000} to {record.key.end // 60_000}: {record.value}")
        print(f"dropped: {driver.dropped_records}")
