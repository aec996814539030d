"""What a task writes: serialised, given a partition, handed to the producer port of its host.

A record that cannot be written goes to the production exception handler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.errors import (
    ArgumentError,
    BrokerError,
    MissingOutputTopicError,
    ProcessingError,
    RecordTooLargeError,
    StreamsError,
    TaskCorruptedError,
    WrongTypeError,
)
from headrace.metrics import StreamsMetrics
from headrace.metrics.topic_count import TopicCount
from headrace.records import Headers, RecordContext
from headrace.serde.contract import Serde
from headrace.serde.windowed import windowed_around
from headrace.task.column_writer import TextRecords
from headrace.task.failures import details, headline, processing_error, remedy
from headrace.task.handlers import (
    Decision,
    ErrorHandlerContext,
    ProducedRecord,
    ProductionHandler,
    SerializationOrigin,
    ask,
    is_retriable,
)
from headrace.windows import Windowed

_SKIP = "Set production.exception.handler to continue, or to your own, to go on without such records."

Serialize = Callable[[str, Any], "bytes | None"]
Partitioner = Callable[[str, Any, Any, int], "int | Iterable[int] | None"]
_KEY, _VALUE = SerializationOrigin.KEY, SerializationOrigin.VALUE


class ProducerPort(Protocol):
    """The host's side: takes bytes for topics. An error of ``send`` goes to the production exception handler."""

    def send(
        self,
        topic: str,
        partition: int | None,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
    ) -> None:
        """Write one record; ``partition`` None leaves it to the hash of the key, ``timestamp`` None to the clock."""

    def partitions_for(self, topic: str) -> int:
        """How many partitions a topic has; 0 where it does not exist."""

    def flush(self) -> None:
        """Return when everything sent so far is written."""


class RecordSource(Protocol):
    """What the collector asks of its task: the record being processed, and the count of drops."""

    record_context: RecordContext | None

    metrics: StreamsMetrics

    @property
    def task_id(self) -> str: ...

    def drop(self, reason: str) -> None: ...


class RecordCollector:
    """The one way out of a task."""

    __slots__ = ("_handler", "_port", "_task", "failure", "port_send")

    def __init__(self, port: ProducerPort, handler: ProductionHandler, task: RecordSource) -> None:
        self._port = port
        self._handler = handler
        self._task = task
        self.port_send = port.send
        self.failure: Exception | None = None
        """An error that came after ``send`` had returned; the next send or flush raises it."""

    def writer(self, topic: str, serialize_key: Serialize, serialize_value: Serialize, node: str) -> TopicWriter:
        """What writes the records of ``node`` to ``topic``."""
        count = TopicCount(topic)
        self._task.metrics.topic_gauge(node, topic, "records-produced-total", lambda: count.records)
        self._task.metrics.topic_gauge(node, topic, "bytes-produced-total", lambda: count.size)
        return TopicWriter(self, topic, serialize_key, serialize_value, node, count)

    def columns(self, writer: TopicWriter) -> TextRecords | None:
        """Where the host takes what ``writer`` writes in columns, if it does."""
        columns_for = getattr(self._port, "columns_for", None)
        return None if columns_for is None else columns_for(writer.topic, writer.count)

    def choose_partitions(
        self, partitioner: Partitioner, topic: str, key: Any, value: Any, node: str
    ) -> list[int | None]:
        """The partitions that ``partitioner`` names: none, one or several; a None among them means the default."""
        count = self._port.partitions_for(topic)
        if count < 1:
            message = f"the topic {topic!r} has no partitions to write to"
            raise StreamsError(message, hint="Create the topic before the application starts.", at=f"node {node}")
        chosen = partitioner(topic, key, value, count)
        if chosen is None:
            return [None]
        if isinstance(chosen, int):
            return [int(chosen)]  # a bool, or a number of an enumeration, is written as what it stands for
        if not isinstance(chosen, list | tuple | set | frozenset) or not all(isinstance(each, int) for each in chosen):
            message = f"the partitioner of the topic {topic!r} gave {chosen!r}"
            hint = "It must give the number of a partition, a list of numbers, or None to let the key decide."
            raise StreamsError(message, hint=hint, at=f"node {node}")
        partitions: list[int | None] = [*sorted(set(map(int, chosen)))]
        if not partitions:
            self._task.drop("the partitioner chose no partition")
        return partitions

    def send_change(
        self, topic: str, partition: int, key: bytes, value: bytes | None, timestamp: int | None, headers: Headers
    ) -> None:
        """Append to a changelog. Buffers have no time of their own and leave it to the producer: None."""
        if self.failure is not None:
            self.raise_failure()
        if timestamp is not None and timestamp < 0:
            message = f"the changelog {topic!r} cannot take the timestamp {timestamp}"
            raise ArgumentError(
                message, hint="Write to a timestamped store through its timestamped face, with a real timestamp."
            )
        self.port_send(topic, partition, timestamp, key, value, headers)

    def send_dead_letters(self, letters: Iterable[ProducedRecord], node: str | None) -> None:
        """Write the dead-letter records of a handler's response; they are bytes already."""
        for letter in letters:
            try:
                self.port_send(*letter)
            except Exception as error:
                self.on_send_error(letter, error, node)

    def on_send_error(self, record: ProducedRecord, error: Exception, node: str | None) -> None:
        """Ask the handler about a record that the port could not write; what it decides shows at the next send."""
        if _is_fatal(error):
            raise error
        context = ErrorHandlerContext.of(self._task.record_context, node, self._task.task_id)
        try:
            response = ask(self._handler.handle, context, record, error)
        except Exception as fatal:
            self.failure = self._handler_failed(node, fatal)
            return
        self.send_dead_letters(response.dead_letters, node)
        if response.decision is Decision.RETRY and is_retriable(error):
            self.failure = TaskCorruptedError(
                f"the task {self._task.task_id} has to start again from what it committed: {error}"
            )
        elif response.decision is Decision.RESUME:
            self._task.metrics.drop("the record could not be produced")
        else:
            message = f"could not write to the topic {record.topic!r}: {headline(error)}"
            self.failure = StreamsError(message, detail=details(error), hint=remedy(error), at=f"node {node}")
            self.failure.__cause__ = error

    def flush(self) -> None:
        """Return when everything is written; raise what went wrong meanwhile."""
        self._port.flush()
        if self.failure is not None:
            self.raise_failure()

    def raise_failure(self) -> None:
        failure, self.failure = self.failure, None
        assert failure is not None
        raise failure

    def on_unserializable(
        self, origin: SerializationOrigin, failed: ProducedRecord, node: str, error: Exception
    ) -> None:
        """Ask the handler about a record that could not be turned into bytes."""
        part, topic = origin.value.lower(), failed.topic
        if isinstance(error, WrongTypeError):
            # Kafka never asks the handler here: the program is wrong, not the record (ClassCastException).
            message = f"the {part} serde of the topic {topic!r} does not fit the {part}: {error.message}"
            raise StreamsError(message, detail=error.detail, hint=error.hint, at=self._place(node)) from error
        task = self._task
        context = ErrorHandlerContext.of(task.record_context, node, task.task_id)
        try:
            response = ask(self._handler.handle_serialization_error, context, failed, error, origin)
        except Exception as fatal:
            raise self._handler_failed(node, fatal) from fatal
        self.send_dead_letters(response.dead_letters, node)
        if response.decision is not Decision.RESUME:
            why = getattr(error, "message", error)
            message = f"could not serialize the {part} of a record for the topic {topic!r}: {why}"
            raise StreamsError(
                message,
                detail=getattr(error, "detail", None) or f"timestamp {failed.timestamp}",
                hint=getattr(error, "hint", None) or _SKIP,
                at=self._place(node),
            ) from error
        task.metrics.drop("the record could not be serialized")

    def _place(self, node: str) -> str:
        context = self._task.record_context
        return f"node {node}" if context is None or context.topic is None else f"node {node}, record {context.metadata}"

    def _handler_failed(self, node: str | None, fatal: Exception) -> ProcessingError:
        failure = processing_error(
            str(node), self._task.record_context, fatal, "the production exception handler itself failed"
        )
        failure.__cause__ = fatal
        return failure


def _is_fatal(error: Exception) -> bool:
    """Whether the broker itself failed: no record is to blame, and without it others would be lost, too."""
    if isinstance(error, MissingOutputTopicError):
        return True
    return isinstance(error, BrokerError) and not isinstance(error, RecordTooLargeError) and not is_retriable(error)


@dataclass(slots=True)
class TopicWriter:
    """Writes the records of one node to one topic."""

    collector: RecordCollector
    topic: str
    _serialize_key: Serialize
    _serialize_value: Serialize
    _node: str
    count: TopicCount
    default_key_serde: Serde[Any] | None = None
    """The serde of keys where the program named none and others read the topic; windowed keys are wrapped by it."""

    def send(self, key: Any, value: Any, timestamp: int, headers: Headers, partition: int | None = None) -> None:
        """Serialise a record, given in parts, and write it."""
        collector, topic = self.collector, self.topic
        if collector.failure is not None:
            collector.raise_failure()
        origin = _KEY
        try:
            raw_key = self._serialize_key(topic, key)
            origin = _VALUE
            raw_value = self._serialize_value(topic, value)
        except Exception as error:
            if origin is _KEY and isinstance(key, Windowed) and self.default_key_serde is not None:
                self._send_windowed(self.default_key_serde, key, value, timestamp, headers, partition)
                return
            failed = ProducedRecord(topic, partition, timestamp, key, value, headers)
            collector.on_unserializable(origin, failed, self._node, error)
            return
        try:
            collector.port_send(topic, partition, timestamp, raw_key, raw_value, headers)
        except Exception as error:
            failed = ProducedRecord(topic, partition, timestamp, raw_key, raw_value, headers)
            collector.on_send_error(failed, error, self._node)
            if collector.failure is not None:
                collector.raise_failure()
            return
        count = self.count
        count.records += 1
        count.content_bytes += len(raw_key or b"") + len(raw_value or b"")
        if headers:
            count.add_headers(headers)

    def _send_windowed(
        self,
        inner: Serde[Any],
        key: Windowed[Any],
        value: Any,
        timestamp: int,
        headers: Headers,
        partition: int | None,
    ) -> None:
        keys = windowed_around(inner, key.window)
        writer = TopicWriter(self.collector, self.topic, keys.serialize, self._serialize_value, self._node, self.count)
        if partition is None:
            writer.send_partitioned(keys.inner_key_partitioner(), key, value, timestamp, headers)
        else:
            writer.send(key, value, timestamp, headers, partition)

    def refuse_value(self, key: Any, value: Any, timestamp: int, headers: Headers, error: Exception) -> None:
        """What ``send`` does with a record whose value cannot be serialised."""
        failed = ProducedRecord(self.topic, None, timestamp, key, value, headers)
        self.collector.on_unserializable(_VALUE, failed, self._node, error)

    def send_partitioned(
        self, partitioner: Partitioner, key: Any, value: Any, timestamp: int, headers: Headers
    ) -> None:
        """The same, to the partitions that ``partitioner`` names."""
        for partition in self.collector.choose_partitions(partitioner, self.topic, key, value, self._node):
            self.send(key, value, timestamp, headers, partition)
