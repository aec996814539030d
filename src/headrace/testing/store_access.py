"""The test driver's way to the stores of its topology: by kind, as they are, and from their changelogs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from headrace.errors import ArgumentError, OperatorTypeError, UnknownStoreError, user_line
from headrace.guesses import Face
from headrace.near_names import did_you_mean
from headrace.state.kinds import (
    KEY_VALUE,
    SESSION,
    TIMESTAMPED_KEY_VALUE,
    TIMESTAMPED_WINDOW,
    VERSIONED,
    WINDOW,
    StoreKind,
    kind_of,
)
from headrace.testing import facades

if TYPE_CHECKING:
    from headrace.task.global_task import GlobalTask
    from headrace.task.handlers import ProducedRecord
    from headrace.task.state_registry import ChangelogEntry
    from headrace.task.stream_task import StreamTask
    from headrace.topology.task_plan import TaskPlan


class StoreAccess(Face):
    """The methods of the test driver that give access to stores."""

    produced: list[ProducedRecord]
    _plan: TaskPlan
    _global_plan: TaskPlan | None
    _task: StreamTask | None
    _global_task: GlobalTask | None
    _is_closed: bool

    def store(self, name: str) -> Any:
        """The store ``name`` as it is, of whatever kind; UnknownStoreError where there is none.

        >>> builder = StreamsBuilder()
        >>> _ = builder.table("in", store=stores.in_memory("rows"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.create_input_topic("in").pipe_input("a", "x", timestamp=7)
        ...     driver.store("rows").get("a")
        ValueAndTimestamp(value='x', timestamp=7, headers=())
        """
        found = self._find(name)
        if found is None:
            raise self._unknown_store(name)
        return found

    def stores(self) -> dict[str, Any]:
        """All stores by name, those with generated names too.

        >>> builder = StreamsBuilder()
        >>> _ = builder.stream("in").group_by_key().count(store=stores.IN_MEMORY)
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     len(driver.stores())
        1
        """
        names = [*self._plan.stores, *(self._global_plan.global_stores if self._global_plan else ())]
        return {name: store for name in names if (store := self._find(name)) is not None}

    def key_value_store(self, name: str) -> Any:
        """A key-value store. One with timestamps shows bare values and writes the timestamp -1.

        Here and below, a store of another kind is an ArgumentError.

        >>> builder = StreamsBuilder()
        >>> _ = builder.table("in", store=stores.in_memory("rows"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.create_input_topic("in").pipe_input("a", "x")
        ...     list(driver.key_value_store("rows").all())
        [('a', 'x')]
        """
        return self._of_type(name, {KEY_VALUE: facades.as_kept, TIMESTAMPED_KEY_VALUE: facades.plain})

    def timestamped_key_value_store(self, name: str) -> Any:
        """A key-value store with timestamps."""
        return self._of_type(
            name, {TIMESTAMPED_KEY_VALUE: facades.as_kept}, {TIMESTAMPED_KEY_VALUE: facades.without_headers}
        )

    def timestamped_key_value_store_with_headers(self, name: str) -> Any:
        """A key-value store with timestamps and headers: its values are ``ValueAndTimestamp`` with ``headers``."""
        return self._of_type(name, {}, {TIMESTAMPED_KEY_VALUE: facades.as_kept})

    def versioned_key_value_store(self, name: str) -> Any:
        """A key-value store that keeps versions."""
        return self._of_type(name, {VERSIONED: facades.as_kept})

    def window_store(self, name: str) -> Any:
        """A window store. One with timestamps shows bare values.

        >>> builder = StreamsBuilder()
        >>> _ = builder.stream("in").group_by_key().windowed_by(TimeWindows(10)).count(stores.IN_MEMORY("counts"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.create_input_topic("in").pipe_input("a", "x", timestamp=12)
        ...     driver.window_store("counts").fetch("a", 10)
        1
        """
        return self._of_type(name, {WINDOW: facades.as_kept, TIMESTAMPED_WINDOW: facades.plain})

    def timestamped_window_store(self, name: str) -> Any:
        """A window store with timestamps."""
        return self._of_type(name, {TIMESTAMPED_WINDOW: facades.as_kept}, {TIMESTAMPED_WINDOW: facades.without_headers})

    def timestamped_window_store_with_headers(self, name: str) -> Any:
        """A window store with timestamps and headers."""
        return self._of_type(name, {}, {TIMESTAMPED_WINDOW: facades.as_kept})

    def session_store(self, name: str) -> Any:
        """A session store. One with headers shows bare values.

        >>> builder = StreamsBuilder()
        >>> _ = builder.stream("in").group_by_key().windowed_by(SessionWindows(5)).count(stores.IN_MEMORY("counts"))
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.create_input_topic("in").pipe_input("a", "x", timestamp=12)
        ...     driver.session_store("counts").fetch_session("a", 12, 12)
        1
        """
        return self._of_type(name, {SESSION: facades.as_kept})

    def session_store_with_headers(self, name: str) -> Any:
        """A session store with room for headers; as in Kafka Streams no aggregation fills them: values are bare."""
        return self._of_type(name, {}, {SESSION: facades.as_kept})

    def changelog(self, store: str) -> list[ChangelogEntry]:
        """What the store has logged so far, for ``restore``."""
        self.store(store)
        topic = self._plan.store_to_changelog.get(store)
        logged = [record for record in self.produced if record.topic == topic]
        return [(record.key, record.value, record.timestamp or 0, record.headers) for record in logged]

    def restore(self, store: str, entries: Iterable[ChangelogEntry]) -> int:
        """Fill a store from changelog records, as a restarted application does; returns how many.

        >>> builder = StreamsBuilder()
        >>> _ = builder.stream("in").group_by_key().count(store=stores.in_memory("counts"))
        >>> with TopologyTestDriver(builder.build()) as before, TopologyTestDriver(builder.build()) as after:
        ...     before.create_input_topic("in").pipe_input("a", "x", timestamp=7)
        ...     after.restore("counts", before.changelog("counts")), after.key_value_store("counts").get("a")
        (1, 1)
        """
        task = self._task if store in self._plan.stores else self._global_task
        if task is None or self._find(store) is None:
            raise self._unknown_store(store)
        given = list(entries) if isinstance(entries, Iterable) else [entries]
        wrong = next((entry for entry in given if not isinstance(entry, tuple) or len(entry) != _ENTRY_PARTS), None)
        if wrong is not None:
            message = f"restore() takes (key, value, timestamp, headers) of changelog records, found {wrong!r}"
            hint = f"Take them from a driver: restore({store!r}, other.changelog({store!r}))."
            raise OperatorTypeError(message, hint=hint, at=user_line())
        return task.restore(store, given)

    @abstractmethod
    def _find(self, name: str) -> Any | None: ...

    def _of_type(
        self,
        name: str,
        views: Mapping[StoreKind, Callable[[Any], Any]],
        header_views: Mapping[StoreKind, Callable[[Any], Any]] | None = None,
    ) -> Any:
        store = self.store(name)
        kind = kind_of(store, store)
        view = (header_views or views if kind.headers else views).get(kind.bare)
        if view is None:
            message = f"the store {name!r} is of another kind: {str(kind).replace('_', ' ')}"
            getter = _GETTERS.get(kind.bare, "store") + ("_with_headers" if kind.headers else "")
            raise ArgumentError(message, hint=f"Ask for it with driver.{getter}({name!r}).", at=user_line())
        return view(store)

    def _unknown_store(self, name: str) -> UnknownStoreError:
        known = list(self.stores())
        message = f"there is no store called {name!r}"
        detail = f"the stores are: {', '.join(known) or 'none'}"
        if self._is_closed:
            detail = "the driver is closed"
        return UnknownStoreError(message, detail=detail, hint=did_you_mean(name, known), at=user_line())


_ENTRY_PARTS = 4
_GETTERS = {
    KEY_VALUE: "key_value_store",
    TIMESTAMPED_KEY_VALUE: "timestamped_key_value_store",
    VERSIONED: "versioned_key_value_store",
    WINDOW: "window_store",
    TIMESTAMPED_WINDOW: "timestamped_window_store",
    SESSION: "session_store",
}
