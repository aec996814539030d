"""Mistakes in a program that skipping records would only hide: refused early, or shown with a hint of their own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from headrace import Processor, PunctuationType, Streams, StreamsBuilder, Topology, TopologyTestDriver, errors, serdes
from headrace.config import StreamsConfig
from headrace.testing import MockProcessorContext


def line() -> int:
    """The line of the caller."""
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


# Async functions


async def later(*arguments: Any) -> bool:
    return False


async def one_by_one(*arguments: Any) -> AsyncIterator[bool]:
    yield False


class HandlesLater:
    async def handle(self, context: Any, record: Any, error: Any) -> None: ...


class Later:
    async def __call__(self, *arguments: Any) -> bool:
        return False


@pytest.mark.parametrize("function", [later, one_by_one, Later(), functools.partial(later, 1)])
def test_async_functions_are_refused_because_nobody_awaits_them(function: Any) -> None:
    with pytest.raises(errors.OperatorTypeError) as caught:
        StreamsBuilder().stream("in").filter(function)

    assert caught.value.message == "filter(): predicate is an async function, which is not awaited here"
    assert caught.value.hint == "Give a plain function; asyncio.run(...) inside it runs what is async."
    assert caught.value.at == f"{__file__}:{line() - 4}"


class ProcessesLater(Processor):
    async def process(self, record: Any) -> None: ...  # type: ignore[override]


class StartsLater(Processor):
    def process(self, record: Any) -> None: ...

    async def init(self, context: Any) -> None: ...  # type: ignore[override]


@pytest.mark.parametrize(("supplier", "method"), [(ProcessesLater, "process"), (StartsLater, "init")])
def test_so_are_async_methods_of_processors(supplier: Any, method: str) -> None:
    stream = StreamsBuilder().stream("in")
    for operator in (stream.process, stream.process_values):
        with pytest.raises(errors.OperatorTypeError) as caught:
            operator(supplier)
        assert caught.value.message.startswith(f"{method}() of the processor 'process")
        assert f"{supplier.__name__}.{method} at {__file__}" in str(caught.value.detail)
        assert caught.value.at == f"{__file__}:{line() - 3}"

    with pytest.raises(errors.OperatorTypeError, match="which is not awaited here"):
        Topology().add_source("source", "in").add_processor("p", supplier, parents="source")


@pytest.mark.parametrize(
    ("add", "what"),
    [
        (lambda s: s.to("out", partitioner=later), "to(): partitioner"),
        (lambda s: s.repartition(partitioner=later), "repartition(): partitioner"),
        (lambda s: StreamsBuilder().stream("in", timestamp_extractor=later), "stream(): timestamp_extractor"),
        (lambda s: StreamsBuilder().table("in", timestamp_extractor=later), "table(): timestamp_extractor"),
        (lambda s: Topology().add_source("in", "t", timestamp_extractor=later), "the timestamp_extractor of 'in'"),
        (
            lambda s: Topology().add_source("in", "t").add_sink("out", "t", "in", partitioner=later),
            "the partitioner of 'out'",
        ),
        (lambda s: serdes.of(cast(Any, later), cast(Any, later)), "serdes.of(): dumps"),
        (lambda s: s.split().branch(lambda key, value: True, consumer=later), "branch(): consumer"),
        (
            lambda s: Topology().add_source("in", "t").add_sink("out", cast(Any, later), "in"),
            "the function that names the topic of 'out'",
        ),
    ],
)
def test_so_are_async_partitioners_and_extractors(add: Any, what: str) -> None:
    with pytest.raises(errors.OperatorTypeError) as caught:
        add(StreamsBuilder().stream("in"))
    assert caught.value.message == f"{what} is an async function, which is not awaited here"
    assert str(caught.value.at).startswith(__file__)


@pytest.mark.parametrize(
    "setting", ["default.timestamp.extractor", "processing.exception.handler", "production.exception.handler"]
)
@pytest.mark.parametrize("function", [later, Later(), HandlesLater, HandlesLater()])
def test_so_are_async_functions_in_the_settings(setting: str, function: Any) -> None:
    with pytest.raises(errors.ConfigError, match="a plain function, because an async one is not awaited"):
        StreamsConfig({"application.id": "a", setting: function})


class SchedulesLater(Processor):
    def init(self, context: Any) -> None:
        context.schedule(1000, PunctuationType.STREAM_TIME, later)


def test_so_are_async_punctuators() -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(SchedulesLater)
    with pytest.raises(errors.HeadraceError, match=r"schedule\(\): callback is an async function"):
        TopologyTestDriver(builder.build())
    with pytest.raises(errors.OperatorTypeError, match=r"schedule\(\): callback is an async function"):
        SchedulesLater().init(MockProcessorContext())


@pytest.mark.parametrize("listen", ["on_batch", "on_state_change", "on_restore", "on_uncaught_exception"])
def test_so_are_async_listeners(listen: str) -> None:
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with pytest.raises(errors.OperatorTypeError, match="is an async function, which is not awaited here"):
        getattr(Streams(builder.build(), {"application.id": "a"}), listen)(later)


# Processors


def fails_with(supplier: Any, value: Any = "1") -> errors.ProcessingError:
    builder = StreamsBuilder()
    builder.stream("in").process(supplier, name="failing").to("out")
    with TopologyTestDriver(builder.build()) as under_test, pytest.raises(errors.ProcessingError) as caught:
        under_test.create_input_topic("in").pipe_input("a", value)
    return caught.value


class Forgetful(Processor):
    def init(self, context: Any) -> None: ...

    def process(self, record: Any) -> None:
        self.context.forward(record)


class AsksTooEarly(Forgetful):
    def init(self, context: Any) -> None:
        self.store = self.context.store("counts")


class InParts(Processor):
    def process(self, record: Any) -> None:
        self.context.forward(record.key, record.value)


class ValueOnly(Processor):
    def process(self, record: Any) -> None:
        self.context.forward(record.value)


class ToNobody(Processor):
    def process(self, record: Any) -> None:
        self.context.forward(record, "nobody")


class Misspelt(Processor):
    def process(self, record: Any) -> None:
        self.context.forward(recrod)  # type: ignore[name-defined]  # noqa: F821


class Upper(Processor):
    def process(self, record: Any) -> None:
        self.context.forward(record.with_value(record.value.upper()))


@pytest.mark.parametrize(
    ("supplier", "hint"),
    [
        (Forgetful, "Call super().init(context) at the beginning of the processor's init()"),
        (InParts, "forward() takes one record"),
        (ValueOnly, "forward() takes one record"),
        (ToNobody, "Without a name forward() hands the record to all children."),
        (Misspelt, "This looks like a mistake in the program"),
    ],
)
def test_a_mistake_in_a_processor_has_a_hint_of_its_own(supplier: Any, hint: str) -> None:
    assert str(fails_with(supplier).hint).startswith(hint)


def test_so_has_one_that_shows_in_init() -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(AsksTooEarly)
    with pytest.raises(errors.StreamsError) as caught:
        TopologyTestDriver(builder.build())
    assert str(caught.value.hint).startswith("Call super().init(context)")


class Half(Processor):
    def process(self, record: Any) -> None:
        self.context.forward(record.with_value(record.value / 2))


class CallsWrongly(Processor):
    def process(self, record: Any) -> None:
        line(record)  # type: ignore[call-arg]


class AsksModule(Processor):
    def process(self, record: Any) -> None:
        inspect.curentframe()  # type: ignore[attr-defined]


class AsksRecord(Processor):
    def process(self, record: Any) -> None:
        self.context.forward(record.vlaue)


@pytest.mark.parametrize(
    ("supplier", "value", "first"),
    [
        (Upper, None, "Set processing.exception.handler to log_and_continue"),
        (Half, "x", "Does the function get the type that it expects? The serde of the source says which: text,"),
    ],
)
def test_what_the_data_may_have_caused_is_no_mistake_in_the_program(supplier: Any, value: Any, first: str) -> None:
    hint = str(fails_with(supplier, value).hint)
    assert hint.startswith(first)
    assert "Set processing.exception.handler to log_and_continue" in hint
    assert hint.endswith("Where the function is wrong, correct it and start again: nothing was skipped.")


@pytest.mark.parametrize("supplier", [CallsWrongly, AsksModule, AsksRecord])
def test_what_no_record_can_have_caused_is(supplier: Any) -> None:
    assert str(fails_with(supplier).hint).startswith("This looks like a mistake in the program")


def test_a_processor_that_cannot_take_a_record_is_refused_where_it_is_given() -> None:
    class InTwo(Processor):
        def process(self, key: Any, value: Any) -> None: ...  # type: ignore[override]

    with pytest.raises(errors.OperatorTypeError) as caught:
        StreamsBuilder().stream("in").process(InTwo)

    told = "process() of the processor 'process' is called with 1 argument, a record, but takes "
    assert caught.value.message.startswith(told)
    assert str(caught.value.hint).startswith("Let it be process(self, record)")
    assert caught.value.at == f"{__file__}:{line() - 5}"


# What is nearly right


def test_an_instance_where_a_supplier_belongs_is_told_that_the_class_is_wanted() -> None:
    instance: Any = Processor()
    with pytest.raises(errors.HeadraceError) as caught:
        StreamsBuilder().stream("in").process(instance)
    assert caught.value.hint == "Pass the processor's class, not an instance of it."


def test_a_topic_that_is_read_in_two_ways_is_refused_with_the_way_out() -> None:
    builder = StreamsBuilder()
    builder.stream("in")
    builder.table("in")
    with pytest.raises(errors.TopologyError, match="already read by another source") as caught:
        builder.build()
    assert "to_table()" in str(caught.value.hint)


def test_a_split_stream_says_where_its_streams_are() -> None:
    split: Any = StreamsBuilder().stream("in").split().branch(lambda key, value: True)
    with pytest.raises(AttributeError, match=r"no attribute 'to'.*no_default_branch\(\)"):
        split.to("out")


class ByName(Processor):
    def init(self, context: Any) -> None:
        context.schedule(1000, "stream_time", print)


def test_the_name_of_a_clock_is_not_taken_for_the_other_clock() -> None:
    builder = StreamsBuilder()
    builder.stream("in").process(ByName)
    told = "punctuation must be a PunctuationType, not 'stream_time'"
    with pytest.raises(errors.HeadraceError, match=told) as caught:
        TopologyTestDriver(builder.build())
    assert "PunctuationType.STREAM_TIME" in str(caught.value.hint)
    with pytest.raises(errors.OperatorTypeError, match=told):
        ByName().init(MockProcessorContext())
