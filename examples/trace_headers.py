"""Headers: a processor reads them, adds its own, and hands the record on. The DSL carries them along unseen."""

from typing import Any

from headrace import Processor, Record, StreamsBuilder, Topology, TopologyTestDriver


class Trace(Processor):
    """Gives each record a trace id, unless it has one, and notes where the record came from."""

    def process(self, record: Record[Any, Any]) -> None:
        origin = self.context.record_metadata
        headers = record.headers
        if headers.last("trace-id") is None:
            headers = headers.add("trace-id", str(origin).encode())
        self.context.forward(record.with_headers(headers.add("hop", b"checkout")))


def build() -> Topology:
    builder = StreamsBuilder()
    builder.stream("orders").process(Trace).map_values(str.upper).to("traced-orders")
    return builder.build()


if __name__ == "__main__":
    with TopologyTestDriver(build()) as driver:
        orders = driver.create_input_topic("orders")
        orders.pipe_input("o1", "tea")
        orders.pipe_input("o2", "cup", headers=[("trace-id", b"from-the-shop"), ("hop", b"shop")])
        for record in driver.create_output_topic("traced-orders"):
            print(record.value, record.headers.last("trace-id"), list(record.headers.all("hop")))
