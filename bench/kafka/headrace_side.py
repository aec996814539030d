"""One application on Headrace, in a process of its own: ``python -m bench.kafka.headrace_side ORDER``.

The session is open when it starts: what is measured is the application, not how long a JVM takes to come up. That is
told apart.
"""

from __future__ import annotations

import json
import sys
import time

from bench.kafka.programs import PROGRAMS
from bench.kafka.sides import Order
from headrace import Streams
from headrace.config import StreamsConfig
from headrace.spark.session import close_session, open_session


def main() -> None:
    """Run the order until standard input ends."""
    order = Order(**json.loads(sys.argv[1]))
    table = {} if order.table is None else {"table": order.table}
    topology = PROGRAMS[order.program](order.input, order.output, **table)
    settings = {
        "application.id": order.application,
        "bootstrap.servers": order.servers,
        "state.dir": order.state,
        "processing.guarantee": order.guarantee,
        "num.stream.threads": 2,
        "consumer.auto.offset.reset": "earliest",
    }
    session = open_session(StreamsConfig(settings), threads=2)
    session.range(1).collect()
    streams = Streams(topology, settings)
    print("STARTED", time.time_ns() // 1_000_000, flush=True)
    with streams:
        sys.stdin.read()
    close_session(session)


if __name__ == "__main__":
    main()
