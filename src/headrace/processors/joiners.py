"""The joiners of users in the one form processors call: ``(key, this side's value, the other side's value)``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Joiner = Callable[[Any, Any, Any], Any]


def keyed_joiner(function: Callable[..., Any], *, with_key: bool) -> Joiner:
    """``function`` as a joiner that is given the key first."""
    return function if with_key else WithoutKey(function)


@dataclass(frozen=True, slots=True)
class WithoutKey:
    """A joiner that does not want the key."""

    function: Callable[[Any, Any], Any]

    def __call__(self, key: Any, left: Any, right: Any) -> Any:
        return self.function(left, right)


@dataclass(frozen=True, slots=True)
class Reversed:
    """A joiner seen from the right side: its own value comes first."""

    joiner: Joiner

    def __call__(self, key: Any, right: Any, left: Any) -> Any:
        return self.joiner(key, left, right)
