"""The processing log: what failed while rows went through queries. A failure costs a value or a row, never silence."""

from __future__ import annotations

import decimal
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.serde.contract import shorten_text

_LOGGER = logging.getLogger("headrace.sql.processing")
_LONGEST = 1000
"""Characters of a cause: it may quote the value, and that may be a megabyte."""
_OURS = "headrace.sql."
"""How modules begin that are the code of expressions and formats, or are called by it."""
_REPEATED = 20
"""Calls in which one that repeats itself comes again."""
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
    *_, innermost = _modules(error)
    if innermost.startswith(_OURS):
        if isinstance(error, TypeError) and any(words in str(error) for words in _NULL_MET):
            return "an operand is null"
        if isinstance(error, ZeroDivisionError):
            return "division by zero"
        if isinstance(error, decimal.DecimalException):
            return "the exact result has more digits than its type"
    # It is raised wherever the stack happens to end: what calls itself is before that.
    repeated = _modules(error)[-_REPEATED:]
    if isinstance(error, RecursionError) and any(each.startswith((_OURS, "json.")) for each in repeated):
        return "the value is nested too deep"
    return shorten_text(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__, _LONGEST)


def _modules(error: BaseException) -> list[str]:
    """The modules that the error went through, the one that raised it last."""
    found, at = [""], error.__traceback__
    while at is not None:
        found.append(str(at.tb_frame.f_globals.get("__name__")))
        at = at.tb_next
    return found
