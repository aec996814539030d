"""What statements answer: in words, and as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.sql.planning.plans import StatementPlan
from headrace.sql.tree.statements import Parsed


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under the names of their columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Done:
    """What a statement did or found; ``message`` says it in words."""

    statement: Parsed
    message: str
    plan: StatementPlan | None = None
    tables: tuple[Table, ...] = ()
