"""Sessions of a clickstream: a session ends when twenty seconds go by without a click.

A click that comes late may lie between two sessions and make them one: both are deleted, the merged one appears.
"""

from datetime import timedelta

from headrace import SessionWindows, StreamsBuilder, Topology, TopologyTestDriver, serdes

SECOND = 1000
SESSION_KEY = serdes.session_windowed(serdes.string())
JSON = serdes.json()


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("clicks")
        .group_by_key(key_serde=serdes.string())
        .windowed_by(SessionWindows(timedelta(seconds=20), grace=timedelta(minutes=1)))
        .aggregate(
            list,
            lambda user, page, pages: [*pages, page],
            lambda user, left, right: left + right,
            "sessions",
            value_serde=JSON,
        )
        .to_stream()
        .to("visits")
    )
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        clicks = driver.create_input_topic("clicks")
        clicks.pipe_input("anna", "/", timestamp=0)
        clicks.pipe_input("anna", "/tea", timestamp=15 * SECOND)
        clicks.pipe_input("anna", "/cart", timestamp=50 * SECOND)
        clicks.pipe_input("anna", "/cups", timestamp=33 * SECOND)  # late, and close to both sessions
        for record in driver.create_output_topic("visits", SESSION_KEY, JSON):
            session = record.key
            print(f"{session.key} {session.start // SECOND:>2}s to {session.end // SECOND:>2}s: {record.value}")
