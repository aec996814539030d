"""What the stores in memory share: they open empty, write nothing and cache nothing.

In a task that is closed between batches each has a database, its home, where it is saved meanwhile.
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
    """Where the store ``name`` is put down between batches; None in a task that stays in its process."""
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
        """Open the store: empty, or as it was put down."""
        self._context = context
        self._home = home_of(self.name, context)
        if self._home is not None:
            self._take_up(self._home)
        self.is_open = True
        context.register(root or self, self.restore)

    def flush_cache(self) -> None:
        """Nothing is cached."""

    def flush(self) -> None:
        """Save what has changed to the database that keeps it between batches, if there is one."""
        if self._home is not None:
            self._put_down(self._home)

    def close(self) -> None:
        self.is_open = False
        if self._home is not None:
            self._home.close()
            self._home = None

    @abstractmethod
    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        """Apply one record of the changelog."""

    @abstractmethod
    def _take_up(self, home: VisitedDatabase) -> None:
        """Be what was put down there."""

    @abstractmethod
    def _put_down(self, home: VisitedDatabase) -> None:
        """Write there what has changed since the last time."""
