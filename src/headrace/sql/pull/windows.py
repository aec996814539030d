"""Bounds of windows in a condition: which windows of a key can hold the rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.sql.errors import SqlError
from headrace.sql.schema import WINDOWSTART

_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(slots=True)
class Range:
    """Milliseconds between bounds; None is no bound."""

    equal: int | None = None
    low: int | None = None
    high: int | None = None
    """Both bounds are inclusive."""

    def contains(self, moment: int) -> bool:
        """Whether the moment is in it."""
        if self.equal is not None:
            return moment == self.equal
        return (self.low is None or moment >= self.low) and (self.high is None or moment <= self.high)

    def narrow(self, operator: str, moment: int, name: str) -> None:
        """Take one more comparison into account; each kind of them can be there once."""
        where = {"=": "equal", ">": "low", ">=": "low", "<": "high", "<=": "high"}.get(operator)
        if where is None:
            raise SqlError("pull.where", f"{name} is compared with =, <, <=, > or >=, not with {operator}")
        if getattr(self, where) is not None:
            raise SqlError("pull.where", f"there are two bounds of one kind on {name}")
        setattr(self, where, moment + {">": 1, "<": -1}.get(operator, 0))
        if self.equal is not None and (self.low is not None or self.high is not None):
            raise SqlError("pull.where", f"{name} = ... cannot be combined with other bounds on {name}")


@dataclass(slots=True)
class WindowBounds:
    """Where windows may begin and end."""

    start: Range = field(default_factory=Range)
    end: Range = field(default_factory=Range)

    def narrow(self, name: str, operator: str, moment: int) -> None:
        """Take one more comparison of WINDOWSTART or WINDOWEND into account."""
        (self.start if name == WINDOWSTART else self.end).narrow(operator, moment, name)

    def contains(self, start: int, end: int) -> bool:
        """Whether such a window may hold rows."""
        return self.start.contains(start) and self.end.contains(end)


def flipped(operator: str) -> str:
    """The operator with its sides changed."""
    return _FLIPPED.get(operator, operator)
