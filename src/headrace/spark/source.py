"""The streaming data source: tells Spark that a batch is due, and nothing else. No row passes through it.

Structured Streaming asks for the latest offset again and again, and runs a batch when it is another one than before.
The source is in a process of its own and knows nothing: it asks the driver, which plans, over a socket that only the
user who runs it can open.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingUnixStreamServer
from types import TracebackType
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import BinaryType, StructField, StructType

FORMAT = "headrace"
_NO_ROWS = StructType([StructField("nothing", BinaryType())])
_ASK, _YES, _NO = b"?", b"y", b"n"
_END_SECONDS = 0.05


class DueServer(ThreadingUnixStreamServer):
    """The driver's side. ``is_due`` is called by one thread at a time: Spark asks between two batches."""

    daemon_threads, block_on_close = True, False

    def __init__(self, directory: Path, is_due: Callable[[], bool]) -> None:
        """It listens in ``directory``, which is this driver's alone."""
        self.is_due = is_due
        self.path = directory / "due"
        super().__init__(str(self.path), _Answers)
        self._thread = threading.Thread(
            target=self.serve_forever, args=(_END_SECONDS,), name="headrace-due", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self.shutdown()
        self.server_close()
        self.path.unlink(missing_ok=True)


class _Answers(StreamRequestHandler):
    server: DueServer

    def handle(self) -> None:
        # Spark ends the process that asks, and does not wait for its answer.
        with suppress(ConnectionError):
            while self.rfile.read(len(_ASK)):
                self.wfile.write(_YES if self.server.is_due() else _NO)


class DueSource(DataSource):
    """``spark.readStream.format("headrace")``; made for one query of one application."""

    @classmethod
    def name(cls) -> str:
        """How queries call it."""
        return FORMAT

    def schema(self) -> StructType:
        """A source must have a column."""
        return _NO_ROWS

    def streamReader(self, schema: Any) -> DueReader:  # noqa: N802
        """The reader of a query."""
        sys.excepthook = _ended
        return DueReader(self.options["path"])


def _ended(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    """Why this process ends. When a query is stopped Spark hangs up, which nobody wants to read about."""
    if not issubclass(kind, ConnectionError):
        sys.__excepthook__(kind, error, traceback)


class DueReader(DataSourceStreamReader):
    """Asks the driver. Its offset is how often the answer was yes."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._driver: socket.socket | None = None
        self._number = 0

    def __reduce__(self) -> tuple[object, ...]:
        return DueReader, (self._path,)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Before the first batch."""
        return {"batch": 0}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Another offset where a batch is due; the last one again where none is."""
        self._number += self._is_due()
        return {"batch": self._number}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """None: there are no rows."""
        return []

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """What no partition has."""
        return iter(())

    def stop(self) -> None:
        """Hang up."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _is_due(self) -> bool:
        if self._driver is None:
            with ExitStack() as undoing:
                driver = undoing.enter_context(socket.socket(socket.AF_UNIX))
                driver.connect(self._path)
                undoing.pop_all()
            self._driver = driver
        self._driver.sendall(_ASK)
        return self._driver.recv(len(_YES)) == _YES
