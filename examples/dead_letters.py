"""Errors that do not stop the application: handlers decide, and what cannot be used goes to a dead-letter topic.

A record that cannot be read is skipped by the handler "log_and_continue". A record on which our code raises meets a
handler of our own: bad input goes on, any other error is a bug and stops the application.
"""

import logging
from typing import Any

from headrace import StreamsBuilder, Topology, TopologyTestDriver, handlers, serdes

JSON = serdes.json()
DEAD_LETTERS = "dead-letters"


def on_processing_error(context: handlers.ErrorHandlerContext, record: Any, error: Exception) -> handlers.Response:
    if isinstance(error, ZeroDivisionError):
        return handlers.resume([handlers.dead_letter(DEAD_LETTERS, context, error)])
    return handlers.fail()


CONFIG = {
    "application.id": "ratios",
    "deserialization.exception.handler": "log_and_continue",
    "processing.exception.handler": on_processing_error,
    "errors.dead.letter.queue.topic.name": DEAD_LETTERS,
}


def build() -> Topology:
    builder = StreamsBuilder()
    (
        builder.stream("measurements", value_serde=JSON)
        .map_values(lambda measurement: measurement["distance"] / measurement["time"])
        .to("speeds", value_serde=serdes.double())
    )
    return builder.build()


if __name__ == "__main__":
    logging.getLogger("headrace").setLevel(logging.ERROR)
    with TopologyTestDriver(build(), CONFIG) as driver:
        measurements = driver.create_input_topic("measurements")
        measurements.pipe_input("a", '{"distance": 10, "time": 2}')
        measurements.pipe_input("b", "not JSON")
        measurements.pipe_input("c", '{"distance": 10, "time": 0}')
        print("speeds:", driver.create_output_topic("speeds", value_serde=serdes.double()).read_key_values_to_list())
        for record in driver.create_output_topic(DEAD_LETTERS):
            error = record.headers.last("__streams.errors.exception") or b""
            print(f"dead letter {record.key}: {record.value} ({error.decode()})")
