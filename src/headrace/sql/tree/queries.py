"""A SELECT, in its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from headrace.sql.errors import NOWHERE
from headrace.sql.tree.expressions import Expression


@dataclass(frozen=True, slots=True)
class Selected:
    """One expression, under a name if one is given."""

    expression: Expression
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class AllColumns:
    """``*``, or ``source.*``."""

    source: str | None = None
    at: int = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AllFields:
    """Every field of a struct: ``base->*``."""

    base: Expression


SelectItem: TypeAlias = Selected | AllColumns | AllFields


@dataclass(frozen=True, slots=True)
class Duration:
    """So many units of time."""

    count: int
    unit: str
    at: int = field(default=NOWHERE, compare=False, repr=False)

    @property
    def ms(self) -> int:
        """In milliseconds."""
        return self.count * _UNIT_MS[self.unit.removesuffix("S")]


_UNIT_MS = {"MILLISECOND": 1, "SECOND": 1_000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000}


class WindowKind(Enum):
    """How a stream is cut into windows."""

    TUMBLING = "TUMBLING"
    HOPPING = "HOPPING"
    SESSION = "SESSION"


@dataclass(frozen=True, slots=True)
class Window:
    """A WINDOW clause; the size of a session is its gap."""

    kind: WindowKind
    size: Duration
    advance: Duration | None = None
    retention: Duration | None = None
    grace: Duration | None = None
    at: int = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Source:
    """A stream or table that is read, under a name of its own if one is given."""

    name: str
    alias: str | None = None
    at: int = field(default=NOWHERE, compare=False, repr=False)


class JoinKind(Enum):
    """Which rows without a partner are kept."""

    INNER = "INNER"
    LEFT = "LEFT OUTER"
    RIGHT = "RIGHT OUTER"
    FULL = "FULL OUTER"


@dataclass(frozen=True, slots=True)
class Within:
    """How far apart joined records may be."""

    before: Duration
    after: Duration
    grace: Duration | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """One more source, joined to what stands left of it."""

    kind: JoinKind
    source: Source
    condition: Expression
    within: Within | None = None


class Emit(Enum):
    """When a query gives results; without one it is asked once."""

    CHANGES = "CHANGES"
    FINAL = "FINAL"


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT."""

    items: tuple[SelectItem, ...]
    source: Source
    joins: tuple[Join, ...] = ()
    window: Window | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    partition_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    emit: Emit | None = None
    limit: int | None = None
    emit_at: int = field(default=NOWHERE, compare=False, repr=False)
    limit_at: int = field(default=NOWHERE, compare=False, repr=False)
