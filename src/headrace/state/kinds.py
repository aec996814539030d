"""What a store is, in three words: its shape, and what its values carry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

_TIMESTAMPED, _WITH_HEADERS = "timestamped_", "_with_headers"
_READABLE = frozenset({"kv", "versioned", "window", "session"})


@dataclass(frozen=True, slots=True)
class StoreKind:
    """The kind of a typed store; as text it is written into the notes of an application.

    >>> str(StoreKind("kv", timestamped=True)), StoreKind.parse("session_with_headers")
    ('timestamped_kv', StoreKind(shape='session', timestamped=False, headers=True))
    """

    shape: str
    """``kv``, ``versioned``, ``window`` or ``session``; any other is what an operator keeps for itself."""
    timestamped: bool = False
    """Whether values are ``ValueAndTimestamp``."""
    headers: bool = False
    """Whether values have room for headers."""

    def __str__(self) -> str:
        return f"{_TIMESTAMPED * self.timestamped}{self.shape}{_WITH_HEADERS * self.headers}"

    @classmethod
    def parse(cls, text: str) -> StoreKind:
        """The kind that ``str`` has written."""
        shape = text.removeprefix(_TIMESTAMPED).removesuffix(_WITH_HEADERS)
        return cls(shape, text.startswith(_TIMESTAMPED), text.endswith(_WITH_HEADERS))

    @property
    def bare(self) -> StoreKind:
        """The kind, whether or not its values have room for headers."""
        return replace(self, headers=False)

    @property
    def is_readable(self) -> bool:
        """Whether users can ask for entries."""
        return self.shape in _READABLE

    @property
    def has_times(self) -> bool:
        """Whether values have times: those of timestamped and of versioned stores."""
        return self.timestamped or self.shape == "versioned"

    @property
    def is_windowed(self) -> bool:
        """Whether keys belong to windows or sessions."""
        return self.shape in ("window", "session")


def kind_of(described: Any, store: Any, *, full_name: bool = False) -> StoreKind:
    """The kind that ``described`` says it has, a store or its builder; one that says none is of its class."""
    kind: StoreKind | None = getattr(described, "kind", None)
    if kind is not None:
        return kind
    own = type(store)
    return StoreKind(f"{own.__module__}.{own.__qualname__}" if full_name else own.__name__)


KEY_VALUE, VERSIONED, WINDOW, SESSION = (StoreKind(shape) for shape in ("kv", "versioned", "window", "session"))
TIMESTAMPED_KEY_VALUE, TIMESTAMPED_WINDOW = StoreKind("kv", timestamped=True), StoreKind("window", timestamped=True)
