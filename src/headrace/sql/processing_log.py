"""The processing log: what failed while rows went through queries. A failure costs a value or a row, never silence."""

from __future__ import annotations

import decimal
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

_LOGGER = logging.getLogger("headrace.sql.processing")
_NULL_MET = ("NoneType", "expected string or bytes-like object", "an operand is null")


@dataclass(frozen=True, slots=True)
class Failure:
    """One line of the log: which part of which query, what it was doing, why it failed, on which row."""

    logger: str
    what: str
    cause: str
    row: tuple[Any, ...] | None = None

    def __str__(self) -> str:
        return f"{self.logger}: {self.what}: {self.cause}"


def to_logging(failure: Failure) -> None:
    """Write a failure to Python's logging, as a warning of ``headrace.sql.processing``."""
    _LOGGER.warning("%s", failure)


@dataclass(frozen=True, slots=True)
class ProcessingLog:
    """Hands every failure to ``write``."""

    write: Callable[[Failure], None] = field(default=to_logging)

    def logger(self, name: str) -> PartLog:
        """For one part of a query, named as ksqlDB names it: ``CSAS_TOTALS_3.Project``."""
        return PartLog(name, self.write)


@dataclass(frozen=True, slots=True)
class PartLog:
    """The log of one part of a query."""

    name: str
    write: Callable[[Failure], None]

    def failed(self, what: str, error: BaseException, row: Sequence[Any] | None = None) -> None:
        """Write that ``what`` failed on ``row``."""
        self.write(Failure(self.name, what, cause_of(error), None if row is None else tuple(row)))


def cause_of(error: BaseException) -> str:
    """Why something failed: in the words of SQL where an expression did, in Python's where a function of a user did."""
    if _is_ours(error):
        if isinstance(error, TypeError) and any(words in str(error) for words in _NULL_MET):
            return "an operand is null"
        if isinstance(error, ZeroDivisionError):
            return "division by zero"
        if isinstance(error, decimal.DecimalException):
            return "the exact result has more digits than its type"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _is_ours(error: BaseException) -> bool:
    """Whether it comes from the code that an expression became, or from what that calls."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and str(at.tb_frame.f_globals.get("__name__")).startswith("headrace.sql.")
