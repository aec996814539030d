"""Exactly once on Kafka, whatever is killed: drivers, workers and the broker, while records come; then a verdict.

``python -m tests.kafka.chaos [--records 100000] [--keys 20000] [--kills 10] [--bounces 3] [--seed N]``

Drivers and workers are killed ``--kills`` times each, the broker is stopped clean and killed ``--bounces`` times each,
in an order that the seed decides. A consumer that reads only what is committed must see every result once, per key in
order, with sums that match. ``--records 3000 --keys 300 --kills 1 --bounces 1`` is over in some minutes.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from headrace.broker import open_broker
from headrace.errors import BrokerUnreachableError
from tests.integration.spark import children
from tests.integration.spark.processes import command_of, marked
from tests.kafka.chaos_program import Feeder, Input, check, make_topics
from tests.kafka.servers import end, small_server

NAME = "chaos"
_MARK = "HEADRACE_TEST_CHAOS"
_ROOT = Path(__file__).parents[2]
_STUCK_SECONDS = 400.0
_LOOK_SECONDS = 0.5
_LONGEST_WAIT = 4.0
_AWAY_SECONDS = 6.0
_AT_WORK = 0.8
"""How often something was committed since the last blow before the next one falls."""


class Chaos:
    """One run: the broker, the input, and the driver that is alive just now."""

    def __init__(self, directory: Path, options: argparse.Namespace) -> None:
        self._directory, self._options = directory, options
        self._random = random.Random(options.seed)
        self._server = small_server(directory / "broker")
        self._server.start()
        make_topics(self._server.address, NAME)
        # Now, so that retention takes nothing away.
        self._input = Input(NAME, options.keys, int(time.time()) // 600 * 600_000)
        self._feeder = Feeder(self._server.address, self._input)
        self._drivers = 0
        self._batches = 0
        self.hits: Counter[str] = Counter()
        self._feeder.send_owners()
        self._driver = self._start()

    def run(self) -> None:
        """All blows, with a part of the input before each; then everything that is left."""
        self._wait_for("the table to be read", lambda: self._lag() == 0)
        blows: list[Callable[[], None]] = [self._kill_driver, self._kill_worker] * self._options.kills
        blows += [self._stop_broker, self._kill_broker] * self._options.bounces
        self._random.shuffle(blows)
        for number, blow in enumerate(blows):
            self._send((number + 1) / (len(blows) + 1))
            if self._random.random() < _AT_WORK:
                self._wait_for("a batch", lambda: self._done() > self._batches)
            self._pause(self._random.uniform(0, _LONGEST_WAIT))
            blow()
            self._batches = self._done()
            print(f"{number + 1}/{len(blows)}: {blow.__name__.strip('_')}, {self._feeder.sent} sent", flush=True)
        self._send(1.0)
        self._feeder.flush()
        self._finish()

    def close(self) -> None:
        """Leave no process behind."""
        children.kill_tree(self._driver)
        end(self._server)

    def _finish(self) -> None:
        self._wait_for("everything to be processed", lambda: self._lag() == 0, self._done)
        assert self._driver.stdin is not None
        self._driver.stdin.close()
        self._driver.wait(_STUCK_SECONDS)
        assert self._driver.returncode == 0, self._said()
        check(self._server.address, self._input, self._feeder.sent)

    def _send(self, part: float) -> None:
        self._feeder.send(int(self._options.records * part) - self._feeder.sent)

    def _kill_driver(self) -> None:
        children.kill(self._driver.pid)
        self._driver.wait(_STUCK_SECONDS)
        children.kill_tree(self._driver)
        self.hits["drivers"] += 1
        self._driver = self._start()

    def _kill_worker(self) -> None:
        found: list[int] = []

        def is_there() -> bool:
            # Not those below the driver: where Spark's daemon was killed, its workers go on without a parent.
            found[:] = [each for each in marked(_MARK, self._mark) if "pyspark.daemon" in command_of(each)]
            return bool(found)

        self._wait_for("a worker", is_there)
        children.kill(self._random.choice(found))
        self.hits["workers"] += 1

    def _stop_broker(self) -> None:
        self._server.stop()
        self.hits["clean stops of the broker"] += 1
        self._bring_back()

    def _kill_broker(self) -> None:
        self._server.kill()
        self.hits["kills of the broker"] += 1
        self._bring_back()

    def _bring_back(self) -> None:
        self._pause(self._random.uniform(0, _AWAY_SECONDS))
        self._server.start()

    def _start(self) -> subprocess.Popen[bytes]:
        self._drivers += 1
        self._batches = 0
        command = [sys.executable, "-m", "tests.kafka.chaos_program", self._server.address, NAME, str(self._directory)]
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [*command, f"batch={self._options.batch}"],
                env={**os.environ, "PYTHONPATH": str(_ROOT), _MARK: self._mark},
                cwd=_ROOT,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    @property
    def _mark(self) -> str:
        return f"{self._directory.name}-{self._drivers}"

    @property
    def _log(self) -> Path:
        return self._directory / f"driver-{self._drivers}.log"

    def _said(self) -> str:
        return self._log.read_text(errors="replace")[-5000:]

    def _done(self) -> int:
        """How many batches this driver has done."""
        return self._log.read_text(errors="replace").count("\nbatch ")

    def _lag(self) -> int:
        with suppress(BrokerUnreachableError), closing(open_broker(self._server.address)) as broker:
            found = broker.lag(NAME)
            return sum(found.values()) if found else self._feeder.sent + 1
        return self._feeder.sent + 1

    def _pause(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._check_driver()
            time.sleep(0.05)

    def _wait_for(self, what: str, holds: Callable[[], bool], progress: Callable[[], object] = lambda: None) -> None:
        """It counts as stuck when nothing has moved for long."""
        deadline, before = time.monotonic() + _STUCK_SECONDS, progress()
        while not holds():
            self._check_driver()
            if (now := progress()) != before:
                deadline, before = time.monotonic() + _STUCK_SECONDS, now
            assert time.monotonic() < deadline, f"waited for {what}; the driver said: {self._said()}"
            time.sleep(_LOOK_SECONDS)

    def _check_driver(self) -> None:
        """Nothing that is done to workers or the broker may end a driver."""
        code = self._driver.poll()
        assert code is None, f"the driver ended with {code}: {self._said()}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=10, help="of drivers, and of workers")
    parser.add_argument("--bounces", type=int, default=3, help="of the broker, clean and hard each")
    parser.add_argument("--batch", type=int, default=2_000, help="records in a batch at the most")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--directory", type=Path)
    options = parser.parse_args()
    directory = options.directory or Path(tempfile.mkdtemp(prefix="headrace-chaos-"))
    print(f"chaos: seed {options.seed} in {directory}", flush=True)
    begin = time.monotonic()
    chaos = Chaos(directory, options)
    try:
        chaos.run()
    except BaseException:
        print(f"failed with seed {options.seed} in {directory}", file=sys.stderr)
        raise
    finally:
        chaos.close()
    shown = ", ".join(f"{count} × {what}" for what, count in sorted(chaos.hits.items()))
    print(f"exact: {options.records} records over {options.keys} keys, {shown}, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
