"""Checks of a topology that is given to be run."""

from __future__ import annotations

from typing import Any

from headrace.errors import OperatorTypeError, user_line
from headrace.topology.topology import Topology


def check_topology(given: Any, taker: str) -> None:
    """Refuse what is no topology, above all a builder that was not built."""
    if not isinstance(given, Topology):
        message = f"{taker} takes a topology, found {type(given).__name__}"
        hint = f"Build it first: {taker}(builder.build(), config)."
        raise OperatorTypeError(message, hint=hint, at=user_line())
