"""A file of five queries whose process is killed again and again while orders come; then a verdict.

``python -m tests.faults.sql_kills [--local] [--kafka] [--kills 6] [--rate 200] [--seed N]``

``headrace sql -f`` runs the file on Spark, with ``--local`` in its own process; on an embedded broker, with ``--kafka``
on one of Kafka's that is started for it. The seed decides when it is killed; what that hits is up to the machine.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from headrace.broker import open_broker
from tests.faults.five_queries import FiveQueries
from tests.kafka.servers import end, leash, small_server

_STUCK_SECONDS = 400.0
_LOOK_SECONDS = 0.05


class Kills:
    """Starts the file, kills its process, and sends ``rate`` orders a second all the while."""

    def __init__(self, queries: FiveQueries, directory: Path, *, local: bool, rate: int, seed: int) -> None:
        self._queries, self._directory, self._local, self._rate = queries, directory, local, rate
        self._broker = open_broker(queries.address)
        self._random = random.Random(seed)
        self._starts = 0
        self._is_over = threading.Event()

    def run(self, kills: int) -> None:
        """So many kills, then everything that is left, and the verdict."""
        with closing(self._broker):
            self._queries.make_topics(self._broker)
            with self._sending():
                for number in range(kills):
                    self._start_and_kill(is_at_work=number % 3 > 0)
            with self._running("--until-idle") as process:
                assert process.wait(_STUCK_SECONDS) == 0, self._said()
            self._queries.check(self._broker)

    def _start_and_kill(self, *, is_at_work: bool) -> None:
        """Where it need not have written anything yet, it may be hit while it starts."""
        before = self._queries.written(self._broker)
        with self._running() as process:
            deadline = time.monotonic() + _STUCK_SECONDS
            while is_at_work and self._queries.written(self._broker) == before:
                assert process.poll() is None and time.monotonic() < deadline, self._said()
                time.sleep(_LOOK_SECONDS)
            time.sleep(self._random.uniform(0, 2 if self._local else 8))
            assert process.poll() is None and "failed" not in self._said(), self._said()

    @contextmanager
    def _running(self, *more: str) -> Iterator[subprocess.Popen[bytes]]:
        """Killed at the end of the block; on Spark the JVM and its workers end after it, by themselves."""
        self._starts += 1
        given = [f"--set={name}={value}" for name, value in self._queries.settings.items()]
        where = ["--broker", self._queries.address, *(["--local"] if self._local else []), *more]
        command = [sys.executable, "-m", "headrace.cli", "sql", *where, "-f", str(self._queries.file), *given]
        with self._log.open("wb") as log:
            process = subprocess.Popen([*leash(), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    @property
    def _log(self) -> Path:
        return self._directory / f"start-{self._starts}.log"

    def _said(self) -> str:
        return self._log.read_text(errors="replace")[-5000:]

    @contextmanager
    def _sending(self) -> Iterator[None]:
        sender = threading.Thread(target=self._send, daemon=True)
        sender.start()
        try:
            yield
            assert sender.is_alive(), "no more orders come"
        finally:
            self._is_over.set()
            sender.join()

    def _send(self) -> None:
        queries = self._queries
        with closing(open_broker(queries.address)) as broker:
            while not queries.is_ready(broker) and not self._is_over.wait(_LOOK_SECONDS):
                continue
            begin = time.monotonic()
            while not self._is_over.wait(_LOOK_SECONDS):
                queries.send(broker, int((time.monotonic() - begin) * self._rate) - queries.sent)


@contextmanager
def _address(directory: Path, *, kafka: bool) -> Iterator[str]:
    if not kafka:
        yield f"embedded:{directory / 'broker'}"
        return
    server = small_server(directory / "kafka")
    try:
        server.start()
        yield server.address
    finally:
        end(server)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--local", action="store_true", help="without Spark")
    parser.add_argument("--kafka", action="store_true", help="on Kafka")
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--rate", type=int, default=200, help="orders per second")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="headrace-sql-kills-"))
    print(f"five queries: seed {options.seed} in {directory}", flush=True)
    begin = time.monotonic()
    with _address(directory, kafka=options.kafka) as address:
        queries = FiveQueries(address, "five", directory)
        Kills(queries, directory, local=options.local, rate=options.rate, seed=options.seed).run(options.kills)
    print(f"exact after {options.kills} kills and {queries.sent} orders in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
