"""From a record to its result: another process appends records at a steady rate, each with the time in it."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.broker import open_broker
from headrace.broker.port import Broker, NewRecord

_LINGER_SECONDS = 0.01
"""How long a producer collects records, as one of Kafka's does with ``linger.ms``."""
_LOOK_SECONDS = 0.005


@contextmanager
def producing(address: str, topic: str, rate: int, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    """A process that appends ``rate`` records a second for so long."""
    arguments = [address, topic, str(rate), str(seconds)]
    with subprocess.Popen([sys.executable, "-m", "bench.latency", *arguments]) as process:
        try:
            yield process
        finally:
            process.kill()


class Reader:
    """Reads what comes out of a topic, and how long each record took until it could be read."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self._broker, self._topic = broker, topic
        self._positions = {(topic, number): 0 for number in range(broker.topics()[topic])}
        self.waits: list[tuple[float, float]] = []
        """When each record was sent, and the seconds it took."""

    def read_until(self, process: subprocess.Popen[bytes], limit_seconds: float) -> None:
        """Read until the producer has ended and nothing has come for a while."""
        deadline = time.monotonic() + limit_seconds
        quiet_since = time.monotonic()
        while time.monotonic() < deadline:
            if self._read():
                quiet_since = time.monotonic()
            elif process.poll() is not None and time.monotonic() - quiet_since > 2.0:
                return
            time.sleep(_LOOK_SECONDS)

    def _read(self) -> bool:
        before = len(self.waits)
        for (topic, number), end in self._broker.end_offsets(self._positions).items():
            start = self._positions[topic, number]
            if end > start:
                now = time.time()
                for records in self._broker.read(topic, number, start, end):
                    sent = [float(record[5] or b"") for record in records]
                    self.waits += [(each, now - each) for each in sent]
                self._positions[topic, number] = end
        return len(self.waits) > before


def produce(broker: Broker, topic: str, rate: int, seconds: float) -> None:
    """Append records at a steady rate; the value of each is the time at which it was due to be sent."""
    begin, sent = time.time(), 0
    while (now := time.time()) - begin < seconds:
        due = int((now - begin) * rate)
        if due > sent:
            numbers = range(sent, due)
            broker.append(NewRecord(topic, b"%d" % number, b"%.6f" % (begin + number / rate)) for number in numbers)
            sent = due
        time.sleep(_LINGER_SECONDS)


def main() -> None:
    """Produce."""
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description=__doc__)
    parser.add_argument("address")
    parser.add_argument("topic")
    parser.add_argument("rate", type=int)
    parser.add_argument("seconds", type=float)
    arguments = parser.parse_args()
    broker = open_broker(arguments.address)
    try:
        produce(broker, arguments.topic, arguments.rate, arguments.seconds)
    finally:
        broker.close()


if __name__ == "__main__":
    main()
