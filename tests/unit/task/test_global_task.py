"""The task behind global stores."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import serde as serdes
from headrace.config import StreamsConfig
from headrace.errors import ProcessingError, StreamsError, UnsupportedError
from headrace.processors.api import Processor, PunctuationType
from headrace.records import RawRecord, Record, raw_record
from headrace.state import stores
from headrace.task.global_task import GlobalTask
from headrace.task.handlers import LogAndFailExceptionHandler
from headrace.task.nodes import handle_unreadable
from headrace.topology import Topology


class Fill(Processor):
    """Writes what it gets; refuses what it is told to refuse."""

    def process(self, record: Record[Any, Any]) -> None:
        if record.value == 13:
            raise ValueError("unlucky")
        self.context.store("shared").put(record.key, record.value)


def global_task(supplier: Any = Fill, **settings: Any) -> GlobalTask:
    config = StreamsConfig(
        {"application.id": "app", **{name.replace("_", "."): value for name, value in settings.items()}}
    )
    builder = stores.key_value(stores.in_memory("shared"), value_serde=serdes.long()).with_logging_disabled()
    topology = Topology().add_global_store(builder, "source", "topic", "fill", supplier, value_serde=serdes.long())
    planned = topology.configured(config)
    plan = planned.global_plan()
    assert plan is not None
    task = GlobalTask(plan, config)
    task.initialize()
    return task


def record(value: bytes, offset: int = 0) -> RawRecord:
    return raw_record("topic", 0, offset, 5, b"k", value)


def number(value: int) -> bytes:
    return value.to_bytes(8, "big")


def test_fills_the_store_and_keeps_the_next_offset() -> None:
    task = global_task()
    task.update(record(number(7), offset=4))
    assert task.stores["shared"].get("k") == 7
    assert task.offsets == {("topic", 0): 5}


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("nothing to say")


def test_an_error_that_cannot_say_what_it_is_is_told_all_the_same() -> None:
    task = global_task()
    with pytest.raises(StreamsError, match=r"could not be deserialized: \(its __str__ raised RuntimeError\)"):
        handle_unreadable(
            task.context, LogAndFailExceptionHandler().handle, "source", record(number(1)), "value", Mute()
        )


def test_what_cannot_be_read_ends_it_unless_the_handler_says_otherwise() -> None:
    with pytest.raises(StreamsError, match="the value of a record could not be deserialized") as caught:
        global_task().update(record(b"short", offset=3))
    assert caught.value.at == "node source, record topic-0@3"
    assert "Set deserialization.exception.handler to log_and_continue" in str(caught.value.hint)


def test_skips_what_it_cannot_read(caplog: pytest.LogCaptureFixture) -> None:
    task = global_task(deserialization_exception_handler="log_and_continue")
    task.update(record(b"short"))
    assert "record topic-0@0: long() expected 8 bytes, found 5" in caplog.text
    assert task.context.metrics.dropped_records == 1
    assert task.offsets == {("topic", 0): 1}


def test_a_dead_letter_that_cannot_be_sent_is_told(caplog: pytest.LogCaptureFixture) -> None:
    dead = {"errors.dead.letter.queue.topic.name": "dlq"}
    global_task(deserialization_exception_handler="log_and_continue", **dead).update(record(b"short"))
    assert "the global node source cannot write to a dead-letter topic" in caplog.text


def test_a_handler_that_fails_is_named() -> None:
    def broken(*_: Any) -> None:
        raise ValueError("no idea")

    with pytest.raises(StreamsError, match="the deserialization exception handler itself failed: ") as caught:
        global_task(deserialization_exception_handler=broken).update(record(b"short"))
    assert caught.value.at == "node source, record topic-0@0"


def test_an_error_of_the_processor_comes_through_as_it_is() -> None:
    with pytest.raises(ValueError, match="unlucky"):
        global_task(processing_exception_handler="log_and_continue").update(record(number(13)))


def test_the_processing_handler_can_be_put_in_charge() -> None:
    enabled = {"processing.exception.handler.global.enabled": True}
    with pytest.raises(ProcessingError, match="unlucky"):
        global_task(**enabled).update(record(number(13)))
    task = global_task(processing_exception_handler="log_and_continue", **enabled)
    task.update(record(number(13)))
    assert task.context.metrics.dropped_records == 1


def test_a_global_processor_has_neither_stream_time_nor_punctuations() -> None:
    class Asking(Fill):
        def process(self, record: Record[Any, Any]) -> None:
            with pytest.raises(UnsupportedError):
                _ = self.context.current_stream_time_ms
            with pytest.raises(UnsupportedError):
                self.context.schedule(10, PunctuationType.STREAM_TIME, print)
            super().process(record)

    task = global_task(Asking)
    task.update(record(number(7)))
    assert task.stores["shared"].get("k") == 7
