"""Stops of a busy application at random moments, all in one Spark session; then a verdict.

``python -m tests.integration.spark.random_stops [--stops 200] [--seed N] [--limit SECONDS]``

Records come all the while. Each stop has a limit; afterwards the output is held against a model of the input: nothing
is lost and nothing doubled. The seed decides when it is stopped and how; what that hits is up to the machine.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

from headrace import Streams
from headrace.config import StreamsConfig
from headrace.errors import IllegalStateError
from headrace.spark.session import open_session
from headrace.spark.worker_path import shared_import_path
from tests.faults.scene import Scene, topology

LIMIT_SECONDS = 10.0
LONGEST_RUN = 0.8
SEND_SECONDS = 0.05
RECORDS = 15
BATCH = 40
"""Small batches: so there are many moments between two of them."""
FINAL_BATCH = 20_000
START_SECONDS = 120.0


class Run:
    """Starts and stops one application again and again."""

    def __init__(self, directory: Path, spark: Any, seed: int, limit: float = LIMIT_SECONDS) -> None:
        self.scene = Scene(directory)
        self.slowest = 0.0
        self.ways: Counter[str] = Counter()
        self._spark, self._limit = spark, limit
        self._random = random.Random(seed)
        self._is_over = threading.Event()
        self.scene.send(RECORDS)
        self._sender = threading.Thread(target=self._send, daemon=True)
        self._sender.start()

    def next_stop(self) -> None:
        """Start the application, and stop it at a random moment in a random way."""
        app, way = self._app(BATCH), self._random.choice([self._while_running, self._while_starting, self._by_two])
        way(app)
        assert self._sender.is_alive(), "no more records come"
        self.ways[way.__name__.strip("_")] += 1

    def finish(self) -> None:
        """Process what is left, and hold everything against the model."""
        self._is_over.set()
        self._sender.join(30)
        with self._app(FINAL_BATCH) as app:
            app.run_until_idle()
        self.scene.check()

    def _while_running(self, app: Streams) -> None:
        app.start()
        time.sleep(self._random.uniform(0, LONGEST_RUN))
        self._stop(app)

    def _by_two(self, app: Streams) -> None:
        app.start()
        time.sleep(self._random.uniform(0, LONGEST_RUN))
        other = threading.Thread(target=app.close, daemon=True)
        other.start()
        self._stop(app)
        other.join(self._limit)
        assert not other.is_alive(), "the other one still waits"

    def _while_starting(self, app: Streams) -> None:
        starting = threading.Thread(target=_start, args=(app,), daemon=True)
        starting.start()
        time.sleep(self._random.uniform(0, LONGEST_RUN))
        self._stop(app)
        starting.join(START_SECONDS)
        assert not starting.is_alive(), "start() does not come back"

    def _stop(self, app: Streams) -> None:
        begin = time.monotonic()
        if not app.close(timeout=timedelta(seconds=self._limit)):
            faulthandler.dump_traceback(file=2)
            message = f"it did not stop within {self._limit:g} s"
            raise AssertionError(message)
        self.slowest = max(self.slowest, time.monotonic() - begin)

    def _app(self, batch: int) -> Streams:
        own = {"bootstrap.servers": f"embedded:{self.scene.broker_dir}", "max.records.per.batch": batch, "poll.ms": 1}
        return Streams(topology(), self.scene.settings(**own), spark=self._spark)

    def _send(self) -> None:
        while not self._is_over.wait(SEND_SECONDS):
            self.scene.send(RECORDS)


def _start(app: Streams) -> None:
    try:
        app.start()
    except IllegalStateError as error:
        assert "was closed" in str(error), error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stops", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS)
    arguments = parser.parse_args()
    seed = random.randrange(2**32) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    with shared_import_path():
        spark = open_session(StreamsConfig({"application.id": "stops"}), threads=2)
    with tempfile.TemporaryDirectory() as directory:
        run = Run(Path(directory), spark, seed, arguments.limit)
        for number in range(1, arguments.stops + 1):
            run.next_stop()
            if not number % 10:
                print(f"{number} stops, slowest {run.slowest:.2f} s, {dict(run.ways)}", flush=True)
        run.finish()
        print(f"{arguments.stops} stops, slowest {run.slowest:.2f} s; {len(run.scene.sent)} records, each once")
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
