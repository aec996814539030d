"""Stores that an operator keeps for itself: typed, logged by themselves, never cached."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from headrace.errors import OperatorTypeError
from headrace.records import NO_HEADERS, Headers
from headrace.serde.defaults import resolve_key_serde, resolve_value_serde
from headrace.state.contracts import FlushListener, StoreContext
from headrace.state.kinds import StoreKind
from headrace.state.store_builder import StoreBuilder

if TYPE_CHECKING:
    from headrace.serde import Serde


class OperatorStore:
    """What such stores share. ``_append`` writes to the changelog, where there is one."""

    kind: ClassVar[StoreKind]
    persistent: bool
    retain_duplicates = False
    null_key: ClassVar[str]
    """The error of a key that is None."""

    def __init__(
        self,
        name: str,
        key_serde: Serde[Any] | None,
        *value_serdes: Serde[Any] | None,
        logging: bool,
        topic: str | None = None,
    ) -> None:
        """``topic`` is the name that the serdes are given; None is that of the changelog."""
        self.name = name
        self._serdes_given = key_serde, value_serdes
        self._logging = logging
        self._topic_given = topic

    def init(self, context: StoreContext) -> None:
        """Resolve the serdes, open the store and make it known to its task."""
        key_serde, value_serdes = self._serdes_given
        self._context = context
        self._append = context.change_logger(self.name) if self._logging else _log_nothing
        self._topic = self._topic_given or context.changelog_topic(self.name)
        self._key_serde = resolve_key_serde(key_serde, context.config)
        self._value_serdes = [resolve_value_serde(value_serde, context.config) for value_serde in value_serdes]
        self._open(context)
        context.register(self, self.restore)

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether the store can be used."""

    @abstractmethod
    def _open(self, context: StoreContext) -> None:
        """Be ready to be filled."""

    @abstractmethod
    def restore(self, key: bytes, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS) -> None:
        """Apply one record of the changelog."""

    @abstractmethod
    def flush(self) -> None:
        """Write what is held back."""

    def flush_cache(self) -> None:
        """Nothing is cached."""

    @abstractmethod
    def close(self) -> None:
        """Close the store."""

    def set_flush_listener(self, listener: FlushListener, send_old_values: bool) -> bool:
        """False: there is no cache that could flush."""
        return False

    def _key_bytes(self, key: Any) -> bytes:
        raw = self._key_serde.serialize(self._topic, key)
        if raw is None:
            raise OperatorTypeError(self.null_key)
        return raw

    def _typed_key(self, data: bytes) -> Any:
        return self._key_serde.deserialize(self._topic, data)


T = TypeVar("T", bound=OperatorStore)


class OperatorStoreBuilder(StoreBuilder, Generic[T]):
    """Builds the stores of one operator: the class is called with the name, the serdes and the options."""

    def __init__(self, store: type[T], name: str, *serdes: Serde[Any] | None, **options: Any) -> None:
        super().__init__(name)
        self.kind = store.kind
        self._store = store
        self._serdes = serdes
        self._options = options

    def build(self) -> T:
        return self._store(self.name, *self._serdes, logging=self.logging_enabled, **self._options)


def _log_nothing(key: bytes, value: bytes | None, timestamp: int | None, headers: Headers) -> None:
    """There is no changelog."""
