"""Row K2: random SIGKILLs of driver, JVM and Python workers while records come; then a verdict.

``python -m tests.integration.spark.random_kills [--kills 200] [--rate 5000] [--seed N] [--directory DIRECTORY]``

The seed decides who is killed and when; what that hits is up to the machine. With a rate so many records come every
second, whatever happens; without, some come before each kill. With a directory an earlier run, ended or failed, goes on
from where it was.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from headrace.broker.port import NewRecord
from tests.faults.scene import Scene
from tests.integration.spark import children

TARGETS = ("worker", "worker", "worker", "driver", "driver", "jvm")
LONGEST_WAIT = 6.0
AT_WORK = 0.7
"""How often the driver has committed something before the wait begins; otherwise it may be hit while it starts."""
BATCH = 60
BATCH_SECONDS = 4
"""With a rate, a batch may have the records of so many seconds: what came during a restart must be caught up with."""
POISON_EACH = 13
PADDING = 3000
"""Some batches are large enough for segments in files of their own."""


class Run:
    """Kills one process after another, starts drivers that are gone, and sends records all the while."""

    def __init__(self, directory: Path, seed: int, rate: int) -> None:
        self.scene = Scene(directory, poison_each=POISON_EACH)
        self._rate = rate
        self._random = random.Random(seed)
        self._note = directory / "run.json"
        self.kills = 0
        self.hits: Counter[str] = Counter()
        if self._note.exists():
            self._go_on()
        else:
            self.scene.send(10)
        self._driver = self._start()
        self._is_over = threading.Event()
        self._sender = threading.Thread(target=self._send, daemon=True)
        self._sender.start()

    def next_kill(self) -> None:
        """Send some records, wait a while, kill somebody."""
        assert self._sender.is_alive() or not self._rate, "no more records come"
        if not self._rate:
            self.scene.send(self._random.randrange(1, 40), padding=self._random.choice([0, PADDING]))
        if self._random.random() < AT_WORK:
            self._wait_for_a_batch()
        self._wait(self._random.uniform(0, LONGEST_WAIT))
        target = self._random.choice(TARGETS)
        found = self._processes(target)
        if not found:
            return  # it is not there yet: nobody was killed
        children.kill(self._random.choice(found))
        self.hits[target] += 1
        self.kills += 1
        self._note.write_text(json.dumps({"kills": self.kills, "hits": self.hits}))
        if target != "worker":
            self._restart()

    def finish(self) -> None:
        """Let the application come to rest, and hold everything against the model."""
        self._is_over.set()
        self._sender.join()
        children.kill_tree(self._driver)
        code, said = children.run(self.scene, batch=max(5000, self._batch))
        assert code == 0, said
        self.scene.check()

    def close(self) -> None:
        """Leave no process behind."""
        self._is_over.set()
        children.kill_tree(self._driver)

    def _go_on(self) -> None:
        note = json.loads(self._note.read_text())
        self.kills, self.hits = note["kills"], Counter(note["hits"])
        with self.scene.broker() as broker:
            found = [record for number in (0, 1) for records in broker.read("events", number, 0) for record in records]
        found.sort(key=lambda record: record[3])
        self.scene.sent = [NewRecord("events", key, value, time) for _, _, _, time, key, value, _ in found]

    def _processes(self, target: str) -> list[int]:
        if target == "driver":
            return [self._driver.pid]
        return children.jvm_of(self._driver) if target == "jvm" else children.workers_of(self._driver)

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._driver.poll() is not None:
                self._restart()
            time.sleep(0.05)

    def _wait_for_a_batch(self) -> None:
        deadline = time.monotonic() + children.SECONDS
        while "batch" not in children.said_by(self.scene):
            assert time.monotonic() < deadline, "stuck"
            self._wait(0.2)

    def _restart(self) -> None:
        """A driver that ends by itself has lost its JVM, or the same task too often: it must say so."""
        code = self._driver.poll()
        if code is not None and code > 0:
            said = children.said_by(self.scene)
            assert "StreamsError: " in said, said
            self.hits["driver ended by an error"] += 1
        children.kill_tree(self._driver)
        self._driver = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return children.spawn(self.scene, batch=self._batch, mode="forever")

    @property
    def _batch(self) -> int:
        return max(BATCH, self._rate * BATCH_SECONDS)

    def _send(self) -> None:
        begin, sent = time.monotonic(), 0
        while self._rate and not self._is_over.wait(0.1):
            due = int((time.monotonic() - begin) * self._rate) - sent
            self.scene.send(due)
            sent += due


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--rate", type=int, default=0, help="records per second")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--directory", type=Path)
    options = parser.parse_args()
    print(f"random kills: seed {options.seed}", flush=True)
    directory = options.directory or Path(tempfile.mkdtemp(prefix="headrace-kills-"))
    begin = time.monotonic()
    run = Run(directory, options.seed, options.rate)
    try:
        while run.kills < options.kills:
            run.next_kill()
            if run.kills % 10 == 0:
                print(f"{run.kills} kills, {len(run.scene.sent)} records sent", flush=True)
        run.finish()
    except BaseException:
        print(f"failed with seed {options.seed} in {directory}", file=sys.stderr)
        raise
    finally:
        run.close()
    shown = ", ".join(f"{count} × {who}" for who, count in sorted(run.hits.items()))
    seconds = time.monotonic() - begin
    print(f"exact after {run.kills} kills ({shown}) and {len(run.scene.sent)} records in {seconds:.0f} s")


if __name__ == "__main__":
    main()
