"""A process that runs the scene's application on Spark until nothing is due. Errors end it with code 1.

``worker.py DIRECTORY [batch=RECORDS] [master=MASTER] [threads=COUNT] [mode=forever|again]``

Each batch is a line on standard output. With ``threads`` it goes on with that many once everything is processed; in
the mode ``forever`` it runs until its standard input ends, in the mode ``again`` it goes on after one failure.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import closing
from pathlib import Path

from headrace.batch.reports import BatchReport
from headrace.errors import HeadraceError, StreamsError
from headrace.spark.engine import SparkEngine
from tests.faults.scene import Scene, topology


def main(directory: Path, options: dict[str, str]) -> None:
    scene = Scene(directory)
    settings = scene.settings(**{"max.records.per.batch": int(options.get("batch", "10")), "num.stream.threads": 2})
    if "master" in options:
        settings["spark.master"] = options["master"]
    watch = Watch()
    with (
        closing(scene.broker()) as broker,
        SparkEngine(topology(), settings, broker, on_batch=watch.on_batch, on_failure=watch.on_failure) as engine,
    ):
        engine.start()
        if options.get("mode") == "forever":
            watch.wait()
        try:
            engine.run_until_idle()
        except StreamsError as error:
            if options.get("mode") != "again":
                raise
            # Whoever waits hears of the failure, and may stop the engine before its watcher tells of it.
            watch.on_failure(error)
            engine.stop()
            engine.run_until_idle()
        if "threads" in options:
            engine.set_threads(int(options["threads"]))
            print("threads", engine.session.sparkContext.defaultParallelism, flush=True)
            engine.run_until_idle()


class Watch:
    """Tells of each batch, and waits for the end of standard input or for a failure."""

    def __init__(self) -> None:
        self._is_over = threading.Event()

    def on_batch(self, report: BatchReport) -> None:
        print("batch", report.batch_id, flush=True)

    def on_failure(self, error: BaseException) -> None:
        print(f"failure {type(error).__name__}: {error}", flush=True)
        self._is_over.set()

    def wait(self) -> None:
        threading.Thread(target=self._read, daemon=True).start()
        self._is_over.wait()

    def _read(self) -> None:
        os.read(0, 1)
        self._is_over.set()


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), dict(argument.split("=", 1) for argument in sys.argv[2:]))
    except HeadraceError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(1)
