"""What the stores in memory share: they open empty, write nothing and cache nothing.

In a task whose state has versions each has a database, its home, to which it is saved at each commit.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from headrace.records import NO_HEADERS, Headers
from headrace.state.contracts import StateStore, StoreContext
from headrace.state.value_codecs import PLAIN, ValueCodec

if TYPE_CHECKING:
    from headrace.state.rocksdb.visits import VisitedDatabase


def home_of(name: str, context: StoreContext) -> VisitedDatabase | None:
    """The database that the store ``name`` is saved to; None where its task has no versions."""
    databases = getattr(context, "databases", None)
    return None if databases is None else databases.open_in_memory(name)


class MemoryStore:
    """A store in memory; its changelog fills it after a restart."""

    persistent = False
    _home: VisitedDatabase | None = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_open = False
        self.codec: ValueCodec = PLAIN

    def init(self, context: StoreContext, root: StateStore | None = None) -> None:
        """Open the store: empty, or as it was saved."""
        self._context = context
        self._home = home_of(self.name, context)
        if self._home is not None:
            self._load(self._home)
        self.is_open = True
        context.register(root or self, self.restore)

    def flush_cache(self) -> None:
        """Nothing is cached."""

    def flush(self) -> None:
        """Save what has changed, if there is a database for it."""
        if self._home is not None:
            self._save(self._home)

    def close(self) -> None:
        self.is_open = False
        if self._home is not None:
            self._home.close()
            self._home = None

    @abstractmethod
    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        """Apply one record of the changelog."""

    @abstractmethod
    def _load(self, home: VisitedDatabase) -> None:
        """Take over what was saved there."""

    @abstractmethod
    def _save(self, home: VisitedDatabase) -> None:
        """Write there what has changed since the last time."""
