"""Inner, left and outer joins: which sides give a result without a partner."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JoinKind:
    """Which sides give a result without a partner."""

    method: str
    left_outer: bool
    right_outer: bool


INNER = JoinKind("join", left_outer=False, right_outer=False)
LEFT = JoinKind("left_join", left_outer=True, right_outer=False)
OUTER = JoinKind("outer_join", left_outer=True, right_outer=True)
