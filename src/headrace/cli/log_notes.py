"""Warnings of Headrace's loggers, the processing log of SQL among them, shown where a command writes its notes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def warnings_as_notes(note: Callable[[str], None]) -> Iterator[None]:
    """Hand every warning and error that is logged inside the block to ``note``, and to nobody else."""

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(f"{record.levelname.lower()}: {record.getMessage()}")

    notes, logger = Notes(logging.WARNING), logging.getLogger("headrace")
    # Spark's client gives Python's root logger a handler when a connection is lost: nothing is to be told twice.
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(notes)
    try:
        yield
    finally:
        logger.removeHandler(notes)
        logger.propagate = propagate
