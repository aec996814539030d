"""Mistakes in a program that skipping records would only hide: refused early, or shown with a hint of their own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator
from typing import Any

import pytest

from headrace import Processor, StreamsBuilder, Topology, TopologyTestDriver, errors


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


def test_a_null_in_the_data_is_no_mistake_in_the_program() -> None:
    assert str(fails_with(Upper, None).hint).startswith("Set processing.exception.handler to log_and_continue")


def test_a_processor_that_cannot_take_a_record_is_refused_where_it_is_given() -> None:
    class InTwo(Processor):
        def process(self, key: Any, value: Any) -> None: ...  # type: ignore[override]

    with pytest.raises(errors.OperatorTypeError) as caught:
        StreamsBuilder().stream("in").process(InTwo)

    told = "process() of the processor 'process' is called with 1 argument, a record, but takes "
    assert caught.value.message.startswith(told)
    assert str(caught.value.hint).startswith("Let it be process(self, record)")
    assert caught.value.at == f"{__file__}:{line() - 5}"
