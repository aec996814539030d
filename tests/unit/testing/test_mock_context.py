"""The context for testing one processor alone."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import ArgumentError, IllegalStateError
from headrace.processors.api import Processor, PunctuationType
from headrace.records import Record
from headrace.state import stores
from headrace.testing import CapturedForward, MockProcessorContext


class Tested(Processor):
    def init(self, context: Any) -> None:
        super().init(context)
        self.handle = context.schedule(10, PunctuationType.STREAM_TIME, print)

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)
        self.context.forward(record, "child")
        self.context.store("seen").put(record.key, record.value)
        self.context.commit()


@pytest.fixture
def context() -> MockProcessorContext:
    mock = MockProcessorContext()
    builder = stores.key_value(stores.in_memory("seen")).with_logging_disabled()
    builder.build().init(mock.state_store_context)
    return mock


def test_captures_what_the_processor_does(context: MockProcessorContext) -> None:
    processor = Tested()
    processor.init(context)
    record = Record("k", "v", 5)
    processor.process(record)
    assert context.forwarded() == [CapturedForward(record), CapturedForward(record, "child")]
    assert context.forwarded("other") == [CapturedForward(record)]
    assert context.store("seen").get("k") == "v"  # type: ignore[union-attr]
    assert context.is_committed
    context.reset_commit()
    context.reset_forwards()
    assert not context.is_committed
    assert context.forwarded() == []


def test_captures_punctuations(context: MockProcessorContext) -> None:
    processor = Tested()
    processor.init(context)
    (captured,) = context.scheduled_punctuators()
    assert (captured.interval_ms, captured.punctuation, captured.punctuator) == (
        10,
        PunctuationType.STREAM_TIME,
        print,
    )
    processor.handle.cancel()
    assert captured.is_cancelled


def test_times_must_be_set_before_use(context: MockProcessorContext) -> None:
    with pytest.raises(IllegalStateError, match="set_current_stream_time_ms"):
        _ = context.current_stream_time_ms
    context.set_current_stream_time_ms(7)
    context.set_current_system_time_ms(8)
    assert (context.current_stream_time_ms, context.current_system_time_ms) == (7, 8)


def test_metadata_is_what_the_test_says(context: MockProcessorContext) -> None:
    assert context.record_metadata is None
    context.set_record_metadata("in", 1, 2)
    assert context.record_metadata == ("in", 1, 2)


def test_there_is_no_directory_unless_given(context: MockProcessorContext) -> None:
    with pytest.raises(ArgumentError, match="state directory"):
        _ = context.state_dir
