"""The two ends of a topology under test: topics to pipe records into, and topics to read results from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from headrace.durations import Duration, not_negative, to_ms
from headrace.errors import ArgumentError, IllegalStateError, OperatorTypeError, SerializationError, user_line
from headrace.guesses import Face
from headrace.instants import Instant, to_timestamp
from headrace.records import ConsumedRecord, GivenHeaders, Record
from headrace.testing.record import TestRecord
from headrace.type_variables import KIn, VIn

if TYPE_CHECKING:
    from headrace.serde import Serde
    from headrace.testing.driver import TopologyTestDriver

T = TypeVar("T")


class _Missing:
    """Stands for an argument that was not given, where None means a null."""


_MISSING = _Missing()


class TestInputTopic(Face, Generic[KIn, VIn]):
    """Pipes records into a topic. Made by ``TopologyTestDriver.create_input_topic``.

    A record without a timestamp gets the topic's clock, which then moves on by ``auto_advance``. An error of the
    program comes out of the call that piped the record.
    """

    __test__ = False

    def __init__(
        self,
        driver: TopologyTestDriver,
        topic: str,
        key_serde: Serde[Any],
        value_serde: Serde[Any],
        start: int,
        auto_advance: Duration,
    ) -> None:
        self.topic = topic
        self._driver = driver
        self._key_serde = key_serde
        self._value_serde = value_serde
        self._now_ms = start
        self._advance_ms = not_negative(auto_advance, "auto_advance")

    def advance_time(self, advance: Duration) -> None:
        """Move the topic's clock."""
        self._now_ms += not_negative(advance, "advance")

    @overload
    def pipe_input(
        self,
        key_or_value: KIn | None,
        value: VIn | None,
        timestamp: Instant | None = None,
        headers: GivenHeaders | None = None,
    ) -> None: ...
    @overload
    def pipe_input(
        self,
        key_or_value: VIn | TestRecord[KIn | None, VIn | None] | None,
        *,
        timestamp: Instant | None = None,
        headers: GivenHeaders | None = None,
    ) -> None: ...
    def pipe_input(
        self,
        key_or_value: Any,
        value: Any = _MISSING,
        timestamp: Instant | None = None,
        headers: GivenHeaders | None = None,
    ) -> None:
        """Pipe one record: ``(key, value)``, a value alone (its key is None), or a ``TestRecord``.

        >>> with TopologyTestDriver(Topology().add_source("source", "in").add_sink("sink", "out", "source")) as driver:
        ...     driver.create_input_topic("in").pipe_input("a", "x", timestamp=7, headers=[("trace", b"1")])
        ...     driver.create_output_topic("out").read_record()
        TestRecord(key='a', value='x', timestamp=7, headers=(('trace', b'1'),))
        """
        if isinstance(key_or_value, TestRecord):
            record = key_or_value
        elif isinstance(key_or_value, Record | ConsumedRecord):
            message = f"pipe_input() takes (key, value), a value or a TestRecord, found {key_or_value!r}"
            raise ArgumentError(message, hint="Give pipe_input(record.key, record.value).", at=user_line())
        elif isinstance(value, _Missing):
            record = TestRecord(None, key_or_value, timestamp, headers)
        else:
            record = TestRecord(key_or_value, value, timestamp, headers)
        self._driver.pipe_record(
            self.topic,
            self._written("key", self._key_serde, record.key),
            self._written("value", self._value_serde, record.value),
            self._tick() if record.timestamp is None else record.timestamp,
            record.headers,
        )

    def pipe_record_list(self, records: Iterable[TestRecord[KIn | None, VIn | None]]) -> None:
        """Pipe records one after the other."""
        for record in _listed(records, "TestRecord objects", 'pipe_record_list([TestRecord("a", "x")])'):
            if not isinstance(record, TestRecord):
                raise _wrong_record("a TestRecord", record, 'pipe_record_list([TestRecord("a", "x")])')
            self.pipe_input(record)

    def pipe_key_value_list(
        self, pairs: Iterable[tuple[KIn | None, VIn | None]], start: Instant | None = None, advance: Duration = 0
    ) -> None:
        """Pipe ``(key, value)`` pairs; with ``start`` at that time, each ``advance`` after the one before.

        >>> with TopologyTestDriver(Topology().add_source("source", "in").add_sink("sink", "out", "source")) as driver:
        ...     driver.create_input_topic("in").pipe_key_value_list([("a", "x"), ("b", "y")], start=0, advance=5)
        ...     driver.create_output_topic("out").read_key_values_to_map()
        {'a': 'x', 'b': 'y'}
        """
        example = 'pipe_key_value_list([("a", "x"), ("b", "y")]); a dict has them as table.items()'
        for pair, timestamp in zip(_listed(pairs, "(key, value) pairs", example), _times(start, advance), strict=False):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise _wrong_record("(key, value)", pair, example)
            self.pipe_input(*pair, timestamp)

    def pipe_value_list(
        self, values: Iterable[VIn | None], start: Instant | None = None, advance: Duration = 0
    ) -> None:
        """Pipe values without keys; with ``start`` at that time, each ``advance`` after the one before."""
        values = _listed(values, "values", 'pipe_value_list(["x", "y"])')
        self.pipe_key_value_list(((None, value) for value in values), start, advance)

    def _written(self, part: str, serde: Serde[Any], given: Any) -> bytes | None:
        try:
            return serde.serialize(self.topic, given)
        except SerializationError as error:
            error.at = error.at or f"the {part} piped into the topic {self.topic}, {user_line()}"
            raise

    def _tick(self) -> int:
        now_ms = self._now_ms
        self._now_ms += self._advance_ms
        return now_ms

    def __repr__(self) -> str:
        return f"TestInputTopic({self.topic!r}, key_serde={self._key_serde!r}, value_serde={self._value_serde!r})"


class TestOutputTopic(Face, Generic[KIn, VIn]):
    """Reads what a topology wrote to a topic. Made by ``TopologyTestDriver.create_output_topic``.

    Reading takes a record away. Iterating takes the records that are there; so do the methods that read all.

    >>> with TopologyTestDriver(Topology().add_source("source", "in").add_sink("sink", "out", "source")) as driver:
    ...     driver.create_input_topic("in").pipe_value_list(["x", "y"])
    ...     out = driver.create_output_topic("out")
    ...     out.read_value(), out.read_values_to_list(), out.is_empty
    ('x', ['y'], True)
    """

    __test__ = False

    def __init__(self, driver: TopologyTestDriver, topic: str, key_serde: Serde[Any], value_serde: Serde[Any]) -> None:
        self.topic = topic
        self._driver = driver
        self._key_serde = key_serde
        self._value_serde = value_serde

    def read_record(self) -> TestRecord[KIn, VIn]:
        """Take the next record; EmptyTopicError where there is none."""
        written = self._driver.read_record(self.topic)
        # A tombstone has no value. The types do not say so: most topics have none, and each test would ask for None.
        key: Any = self._read("key", self._key_serde, written.key)
        value: Any = self._read("value", self._value_serde, written.value)
        return TestRecord(key, value, written.timestamp, written.headers)

    def _read(self, part: str, serde: Serde[Any], data: bytes | None) -> Any:
        try:
            return serde.deserialize(self.topic, data)
        except SerializationError as error:
            error.hint = f"Give create_output_topic({self.topic!r}) the {part}_serde that the program writes with."
            error.at = f"the {part} of a record of the topic {self.topic}, {user_line()}"
            raise

    def read_value(self) -> VIn:
        """Take the next record; its value."""
        return self.read_record().value

    def read_key_value(self) -> tuple[KIn, VIn]:
        """Take the next record; its key and value."""
        record = self.read_record()
        return record.key, record.value

    def __iter__(self) -> Iterator[TestRecord[KIn, VIn]]:
        while not self.is_empty:
            yield self.read_record()

    def read_records_to_list(self) -> list[TestRecord[KIn, VIn]]:
        """Take all records."""
        return list(self)

    def read_key_values_to_list(self) -> list[tuple[KIn, VIn]]:
        """Take all records; their keys and values."""
        return [(record.key, record.value) for record in self]

    def read_values_to_list(self) -> list[VIn]:
        """Take all records; their values."""
        return [record.value for record in self]

    def read_key_values_to_map(self) -> dict[KIn, VIn]:
        """Take all records as a table: the last value of each key. A record without a key is an IllegalStateError."""
        table: dict[KIn, VIn] = {}
        for record in self:
            if record.key is None:
                raise IllegalStateError(
                    "a record without a key has no place in a map", hint="Use read_key_values_to_list()."
                )
            table[record.key] = record.value
        return table

    @property
    def queue_size(self) -> int:
        """How many records wait to be read."""
        return self._driver.queue_size(self.topic)

    @property
    def is_empty(self) -> bool:
        """Whether none waits."""
        return self.queue_size == 0

    def __len__(self) -> int:
        return self.queue_size

    def __repr__(self) -> str:
        return f"TestOutputTopic({self.topic!r}, size={self.queue_size})"


def _listed(given: Iterable[T], what: str, example: str) -> Iterable[T]:
    """``given``, which must be a list or the like; a text or a dict is one too, but never meant."""
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping):
        return given
    message = f"a list of {what} is needed, found {given!r}"
    raise OperatorTypeError(message, hint=f"For example {example}.", at=user_line())


def _wrong_record(what: str, found: object, example: str) -> ArgumentError:
    return OperatorTypeError(
        f"a record must be {what}, found {found!r}", hint=f"For example {example}.", at=user_line()
    )


def _times(start: Instant | None, advance: Duration) -> Iterator[int | None]:
    advance_ms = to_ms(advance, "advance")
    now_ms = None if start is None else to_timestamp(start, "start")
    while True:
        yield now_ms
        if now_ms is not None:
            now_ms += advance_ms
