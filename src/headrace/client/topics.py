"""``Topics``: typed records in and out of topics, and topics and stores as tables, without an application."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headrace.application.stateful_readers import growth_warning
from headrace.broker import DEFAULT_BROKER, BrokerConfig, embedded_directory, no_broker, open_broker
from headrace.broker.config import broker_settings
from headrace.client.asking import From, check_limit, partitions_of, starts_of, unknown_topic
from headrace.client.coding import Coder, new_records
from headrace.client.reading import Reading
from headrace.config import as_dict
from headrace.durations import Duration, timeout_seconds
from headrace.errors import ArgumentError, IllegalStateError
from headrace.guesses import Face
from headrace.instants import Instant
from headrace.optional import extra_for
from headrace.records import ConsumedRecord, GivenHeaders, RecordMetadata
from headrace.serde.given import given_serde

if TYPE_CHECKING:
    from headrace.broker.port import Broker, TopicDescription
    from headrace.serde import Serde

GivenSerde = Any
"""A serde, or the name of one as in the configuration: ``"string"``, ``"json"``, ``"long"``."""


class Topics(Face):
    """The topics of a broker. Made by ``headrace.topics``; a context manager, and safe in threads.

    Keys and values are text unless the serdes say otherwise: here for all calls, or in each call. A serde may be given
    by its name.

    >>> import headrace
    >>> with headrace.topics(f"embedded:{getfixture('tmp_path')}", value_serde="json") as topics:
    ...     topics.create("purchases", partitions=2)
    ...     topics.produce("purchases", "alice", {"amount": 3})
    ...     [(record.key, record.value) for record in topics.consume("purchases")]
    RecordMetadata(topic='purchases', partition=1, offset=0)
    [('alice', {'amount': 3})]
    """

    def __init__(
        self,
        address: str = DEFAULT_BROKER,
        *,
        key_serde: GivenSerde = "string",
        value_serde: GivenSerde = "string",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(address, str):
            raise no_broker(address)
        self.address = address
        self._settings = broker_settings(as_dict(settings or {}, '{"security.protocol": "SSL"}'))
        self._key_serde = _serde("key_serde", key_serde)
        self._value_serde = _serde("value_serde", value_serde)
        self._open: Broker | None = None

    def __repr__(self) -> str:
        return f"Topics({self.address!r})"

    def __enter__(self) -> Topics:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files. The next call opens them again."""
        broker, self._open = self._open, None
        if broker is not None:
            broker.close()

    # Topics

    def create(self, topic: str, partitions: int = 1, config: Mapping[str, object] | None = None) -> None:
        """Make a topic, and the directory of an embedded broker where it is not there; TopicExistsError if it is."""
        self._broker(create=True).create_topic(topic, partitions, config)

    def alter(
        self,
        topic: str,
        *,
        partitions: int | None = None,
        config: Mapping[str, object | None] | None = None,
        force: bool = False,
    ) -> None:
        """Add partitions, change settings; None brings a setting back to its default.

        An application with state that reads the topic cannot go on with more partitions than it began with. Where
        there is one, adding them is an IllegalStateError, unless ``force`` is set.
        """
        broker = self._known(topic)
        warning = None if force else growth_warning(broker, topic, partitions)
        if warning is not None:
            raise IllegalStateError(warning, hint="Say force=True to add them all the same.")
        broker.alter_topic(topic, partitions=partitions, config=config)

    def delete(self, topic: str) -> None:
        """Remove a topic, its records, and what groups committed for it."""
        self._known(topic).delete_topic(topic)

    def names(self) -> dict[str, int]:
        return self._broker().topics() if self._is_there else {}

    def describe(self, topic: str) -> TopicDescription:
        """Settings of a topic, offsets and sizes of its partitions, what retention removed."""
        return self._known(topic).describe_topic(topic)

    # Records

    def produce(
        self,
        topic: str,
        key: Any,
        value: Any,
        *,
        timestamp: Instant | None = None,
        headers: GivenHeaders = (),
        partition: int | None = None,
        key_serde: GivenSerde = None,
        value_serde: GivenSerde = None,
    ) -> RecordMetadata:
        """Append one record; where it went. It is durable when this returns.

        Without a partition the key decides, as Kafka's producer does (murmur2); without a timestamp the clock does.
        For many records ``produce_all`` is much faster.
        """
        coder = self._coder(topic, key_serde, value_serde)
        record = coder.encode(key, value, timestamp, headers, partition)
        ((_, number), (offset, _)), *_ = self._known(topic).append([record]).ranges.items()
        return RecordMetadata(topic, number, offset)

    def produce_all(
        self, topic: str, records: Iterable[Any], *, key_serde: GivenSerde = None, value_serde: GivenSerde = None
    ) -> int:
        """Append records, all or none of them; how many.

        Each is ``(key, value)``, ``(key, value, timestamp)``, a ``Record``, or a ``ConsumedRecord`` of another topic.

        >>> import headrace
        >>> with headrace.topics(f"embedded:{getfixture('tmp_path')}") as topics:
        ...     topics.create("words")
        ...     topics.produce_all("words", [(None, word) for word in "all streams lead".split()])
        3
        """
        coder = self._coder(topic, key_serde, value_serde)
        appended = self._known(topic).append(new_records(coder, records))
        return sum(end - first for first, end in appended.ranges.values())

    def consume(
        self,
        topic: str,
        *,
        from_: From = "earliest",
        limit: int | None = None,
        timeout: Duration | None = None,
        partitions: Iterable[int] | None = None,
        key_serde: GivenSerde = None,
        value_serde: GivenSerde = None,
    ) -> Iterator[ConsumedRecord]:
        """The records of a topic, one after another, up to what is its end now.

        ``from_`` is ``"earliest"``, ``"latest"``, an offset, a negative number for the last so many of each partition,
        a ``datetime``, or a dict of partitions and offsets. With a ``timeout`` it waits for more at the end, and ends
        when none came for that long. Records of one partition keep their order, those of several come by timestamp as
        far as that goes. Nothing is committed: groups are not moved.
        """
        coder = self._coder(topic, key_serde, value_serde)
        reading = self._reading(topic, from_, partitions)
        seconds = timeout_seconds(timeout)
        return islice(map(coder.decode, reading.records(seconds)), check_limit(limit))

    # Tables

    def to_arrow(
        self,
        topic: str,
        *,
        from_: From = "earliest",
        limit: int | None = None,
        partitions: Iterable[int] | None = None,
        key_serde: GivenSerde = None,
        value_serde: GivenSerde = None,
    ) -> Any:
        """The records of a topic as an Arrow table: key, value, timestamp (milliseconds), partition, offset, headers.

        Keys and values get the type that all of them share; dicts with the same names become structs, what has nothing
        in common becomes JSON text.

        >>> import headrace
        >>> with headrace.topics(f"embedded:{getfixture('tmp_path')}", value_serde="json") as topics:
        ...     topics.create("purchases")
        ...     n = topics.produce_all("purchases", [("alice", {"amount": 3}, 0), ("bob", {"amount": 5}, 1)])
        ...     topics.to_arrow("purchases").select(["key", "value"]).to_pylist()
        [{'key': 'alice', 'value': {'amount': 3}}, {'key': 'bob', 'value': {'amount': 5}}]
        """
        coder = self._coder(topic, key_serde, value_serde)
        reading = self._reading(topic, from_, partitions)
        rows = partial(_rows, reading, coder, check_limit(limit))
        with extra_for("an Arrow table"):
            from headrace.query.tables import topic_table  # noqa: PLC0415
        return topic_table(rows)

    def to_pandas(self, topic: str, **options: Any) -> Any:
        """The records of a topic as a pandas DataFrame; options and columns are those of ``to_arrow``."""
        return self.to_arrow(topic, **options).to_pandas()

    def to_spark(self, topic: str, spark: Any = None, **options: Any) -> Any:
        """The records of a topic as a DataFrame of ``spark``; options and columns are those of ``to_arrow``.

        Without a session that of the process is taken.
        """
        return _spark_dataframe(spark, self.to_arrow(topic, **options))

    def store_arrow(
        self, application_id: str, name: str, *, key_serde: GivenSerde = None, value_serde: GivenSerde = None
    ) -> Any:
        """A store of an application as an Arrow table, as it was committed last, whether the application runs or not.

        It is made from the store's changelog. The program is not needed, but the serdes are.
        """
        with extra_for("an Arrow table"):
            from headrace.query.recorded_stores import recorded_store_table  # noqa: PLC0415
        coder = self._coder(name, key_serde, value_serde)
        return recorded_store_table(self._broker(), application_id, name, coder.key_serde, coder.value_serde)

    def store_pandas(self, application_id: str, name: str, **serdes: Any) -> Any:
        """The same as a pandas DataFrame."""
        return self.store_arrow(application_id, name, **serdes).to_pandas()

    def store_dataframe(self, application_id: str, name: str, spark: Any = None, **serdes: Any) -> Any:
        """The same as a DataFrame of ``spark``; without a session that of the process is taken."""
        return _spark_dataframe(spark, self.store_arrow(application_id, name, **serdes))

    # Inside

    @property
    def _is_there(self) -> bool:
        directory = embedded_directory(self.address)
        return self._open is not None or directory is None or directory.exists()

    def _broker(self, *, create: bool = False) -> Broker:
        """The broker; a directory is only made for a topic that is created."""
        if self._open is None:
            if not create and not self._is_there:
                raise unknown_topic(None, self.address, ())
            self._open = open_broker(BrokerConfig(self.address, self._settings))
        return self._open

    def _known(self, topic: str) -> Broker:
        """The broker, which has the topic."""
        broker = self._broker()
        there = broker.topics()
        if topic not in there:
            raise unknown_topic(topic, self.address, there)
        return broker

    def _reading(self, topic: str, from_: From, partitions: Iterable[int] | None) -> Reading:
        broker = self._known(topic)
        chosen = partitions_of(broker, topic, partitions)
        return Reading(broker, starts_of(broker, chosen, from_))

    def _coder(self, topic: str, key_serde: GivenSerde, value_serde: GivenSerde) -> Coder:
        return Coder(
            topic,
            _serde("key_serde", key_serde, self._key_serde),
            _serde("value_serde", value_serde, self._value_serde),
        )


def topics(
    address: str = DEFAULT_BROKER,
    *,
    key_serde: GivenSerde = "string",
    value_serde: GivenSerde = "string",
    settings: Mapping[str, Any] | None = None,
) -> Topics:
    """The topics at ``address``, as ``bootstrap.servers`` of an application names it: see ``Topics``.

    ``settings`` are those of Kafka's clients: about security, and with the prefixes ``consumer.`` and ``producer.``.

    >>> import headrace
    >>> with headrace.topics(f"embedded:{getfixture('tmp_path')}") as topics:
    ...     topics.create("lines")
    ...     topics.names()
    {'lines': 1}
    """
    return Topics(address, key_serde=key_serde, value_serde=value_serde, settings=settings)


def _serde(argument: str, given: GivenSerde, default: Serde[Any] | None = None) -> Serde[Any]:
    found = given_serde(argument, given) or default
    if found is None:
        message = f"{argument} is None"
        raise ArgumentError(message, hint='Give a serde or its name, such as "json".')
    return found


def _rows(reading: Reading, coder: Coder, limit: int | None) -> Iterator[dict[str, Any]]:
    for record in islice(map(coder.decode, reading.fixed().records()), limit):
        yield {
            "key": record.key,
            "value": record.value,
            "timestamp": record.timestamp,
            "partition": record.partition,
            "offset": record.offset,
            "headers": [{"name": name, "value": value} for name, value in record.headers],
        }


def _spark_dataframe(spark: Any, table: Any) -> Any:
    with extra_for("a Spark DataFrame"):
        from headrace.spark.frames import dataframe  # noqa: PLC0415
    return dataframe(spark, table)
