"""Offsets with their metadata to the letter, sent and read.

confluent-kafka takes metadata for a C string. It sends the zero at its end along, and Kafka Streams cannot read that:
it warns, and goes on without the times that are in it. What Kafka Streams wrote has no such zero, and confluent-kafka
reads on into whatever memory comes after. So these two calls go to librdkafka itself.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, cimpl

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

_TEXT = 512
_MORE_SECONDS = 1.0
"""So that librdkafka, which knows more, is the first to say that its time is over."""
_NO_GENERATION, _NO_MEMBER = -1, b"headrace"


class _Part(ctypes.Structure):
    """``rd_kafka_topic_partition_t``."""

    _fields_ = (
        ("topic", ctypes.c_char_p),
        ("partition", ctypes.c_int32),
        ("offset", ctypes.c_int64),
        ("metadata", ctypes.c_void_p),
        ("metadata_size", ctypes.c_size_t),
        ("opaque", ctypes.c_void_p),
        ("err", ctypes.c_int),
        ("private", ctypes.c_void_p),
    )


def send_offsets(producer: Producer, group: str, offsets: Iterable[tuple[str, int, int, str]], seconds: float) -> None:
    """Let offsets of a group (topic, partition, offset, metadata) count with the producer's transaction.

    As ``Producer.send_offsets_to_transaction``; a KafkaException says the same. UNKNOWN_MEMBER_ID where the group has
    members: Kafka asks who we are only if we give a name, and takes everybody's offsets while the group is empty
    (``ClassicGroup.validateOffsetCommit``). Who joins later is told of them when the transaction has ended.

    In a thread of its own: where the group's coordinator is gone librdkafka does not look at the limit that it is
    given, and may stay inside for good (https://github.com/confluentinc/librdkafka/issues/5456).
    """
    outcome: Future[None] = Future()

    def send() -> None:
        try:
            _send_offsets(producer, group, list(offsets), seconds)
        except BaseException as error:
            outcome.set_exception(error)
        else:
            outcome.set_result(None)

    threading.Thread(target=send, name="headrace-send-offsets", daemon=True).start()
    try:
        outcome.result(seconds + _MORE_SECONDS)
    except FutureTimeout:
        message = f"the offsets of {group} were not taken within {seconds:g} s"
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, message)) from None


def _send_offsets(producer: Producer, group: str, offsets: list[tuple[str, int, int, str]], seconds: float) -> None:
    library = _library()
    with _part_list(library, offsets) as parts:
        members = library.rd_kafka_consumer_group_metadata_new_with_genid(
            group.encode(), _NO_GENERATION, _NO_MEMBER, None
        )
        try:
            error = library.rd_kafka_send_offsets_to_transaction(_handle(producer), parts, members, int(seconds * 1000))
        finally:
            library.rd_kafka_consumer_group_metadata_destroy(members)
    if error:
        try:
            raise KafkaException(_error(library, error))
        finally:
            library.rd_kafka_error_destroy(error)


def committed_by(
    consumer: Consumer, partitions: Iterable[tuple[str, int]], seconds: float
) -> dict[tuple[str, int], tuple[int, str]]:
    """Offset and metadata of what the consumer's group committed. Metadata that is no text is ""."""
    library = _library()
    places = list(partitions)
    parts = library.rd_kafka_topic_partition_list_new(len(places))
    try:
        for topic, partition in places:
            library.rd_kafka_topic_partition_list_add(parts, topic.encode(), partition)
        code = library.rd_kafka_committed(_handle(consumer), parts, int(seconds * 1000))
        if code:
            raise KafkaException(KafkaError(code))
        found = {place: _found(library, parts, place) for place in places}
        for part in found.values():
            if part.err:
                raise KafkaException(KafkaError(part.err))
        return {place: (part.offset, _metadata(part)) for place, part in found.items() if part.offset >= 0}
    finally:
        library.rd_kafka_topic_partition_list_destroy(parts)


def _metadata(part: Any) -> str:
    if not part.metadata:
        return ""
    data = ctypes.string_at(part.metadata, part.metadata_size)
    # The zero of a client that sends it.
    return data.removesuffix(b"\0").decode(errors="ignore")


def _found(library: Any, parts: int, place: tuple[str, int]) -> Any:
    return library.rd_kafka_topic_partition_list_find(parts, place[0].encode(), place[1]).contents


@contextmanager
def _part_list(library: Any, offsets: list[tuple[str, int, int, str]]) -> Iterator[int]:
    parts = library.rd_kafka_topic_partition_list_new(len(offsets))
    texts: list[Any] = []
    try:
        for topic, partition, offset, metadata in offsets:
            part = library.rd_kafka_topic_partition_list_add(parts, topic.encode(), partition).contents
            text = ctypes.create_string_buffer(metadata.encode())
            part.offset, part.metadata_size = offset, len(text) - 1
            part.metadata = ctypes.addressof(text)
            texts.append(text)
        yield parts
    finally:
        # The texts are ours: the list must not free them.
        for topic, partition, _, _ in offsets[: len(texts)]:
            part = _found(library, parts, (topic, partition))
            part.metadata, part.metadata_size = None, 0
        library.rd_kafka_topic_partition_list_destroy(parts)


def _error(library: Any, error: int) -> KafkaError:
    return KafkaError(
        library.rd_kafka_error_code(error),
        (library.rd_kafka_error_string(error) or b"").decode(errors="replace")[:_TEXT],
        fatal=bool(library.rd_kafka_error_is_fatal(error)),
        retriable=bool(library.rd_kafka_error_is_retriable(error)),
        txn_requires_abort=bool(library.rd_kafka_error_txn_requires_abort(error)),
    )


def _handle(client: Producer | Consumer) -> int:
    """The object of librdkafka's: the first thing that confluent-kafka keeps in a client."""
    found = ctypes.c_void_p.from_address(id(client) + object.__basicsize__).value
    assert found is not None, "the client is closed"
    return found


@functools.cache
def _library() -> Any:
    """The librdkafka that confluent-kafka is linked with: found through the module that uses it."""
    library = ctypes.CDLL(cimpl.__file__)
    pointer, text, part = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(_Part)
    shapes: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "topic_partition_list_new": (pointer, (ctypes.c_int,)),
        "topic_partition_list_add": (part, (pointer, text, ctypes.c_int32)),
        "topic_partition_list_find": (part, (pointer, text, ctypes.c_int32)),
        "topic_partition_list_destroy": (None, (pointer,)),
        "committed": (ctypes.c_int, (pointer, pointer, ctypes.c_int)),
        "consumer_group_metadata_new_with_genid": (pointer, (text, ctypes.c_int32, text, text)),
        "consumer_group_metadata_destroy": (None, (pointer,)),
        "send_offsets_to_transaction": (pointer, (pointer, pointer, pointer, ctypes.c_int)),
        "error_code": (ctypes.c_int, (pointer,)),
        "error_string": (text, (pointer,)),
        "error_is_fatal": (ctypes.c_int, (pointer,)),
        "error_is_retriable": (ctypes.c_int, (pointer,)),
        "error_txn_requires_abort": (ctypes.c_int, (pointer,)),
        "error_destroy": (None, (pointer,)),
    }
    for name, (result, arguments) in shapes.items():
        function = getattr(library, f"rd_kafka_{name}")
        function.restype, function.argtypes = result, arguments
    return library
