"""A job without work, beside what comes before the first batch: what happens once in a session has happened by then.

The first job of a session takes seconds: Spark loads classes and compiles its plan, starts the workers, and these
import what they need. None of that waits for the topics or the lease of an application.
"""

from __future__ import annotations

import logging
import threading
from weakref import WeakSet

from pyspark import SparkContext
from pyspark.sql import SparkSession

from headrace.spark.jvm import EXECUTION_ERRORS
from headrace.spark.parcel_rows import SCHEMA
from headrace.spark.worker import FirstImports

log = logging.getLogger(__name__)

_END_SECONDS = 60.0
_warm: WeakSet[SparkContext] = WeakSet()
"""Those that were warmed up, or are about to be."""


class WarmUp:
    """Runs beside whoever made it, once for a session; ``address`` is that of the broker."""

    def __init__(self, session: SparkSession, address: str) -> None:
        self._thread: threading.Thread | None = None
        if session.sparkContext not in _warm:
            _warm.add(session.sparkContext)
            self._thread = threading.Thread(target=_run, args=(session, address), name="headrace-warm-up", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Wait until it is over: of a session that stops meanwhile Spark would complain."""
        if self._thread is not None:
            self._thread.join(_END_SECONDS)
            self._thread = None


def _run(session: SparkSession, address: str) -> None:
    try:
        workers = session.sparkContext.defaultParallelism
        numbers = session.range(0, workers, numPartitions=workers)
        numbers.mapInArrow(FirstImports(address), SCHEMA).toArrow()
    except EXECUTION_ERRORS as error:
        # The first batch shows what is wrong, if anything is.
        log.debug("nothing was warmed up: %s", error)
