"""Which handler a setting means, and what handlers answer."""

from __future__ import annotations

import re
from typing import Any

import pytest

from headrace import StreamsBuilder, TopologyTestDriver, serdes
from headrace.config import StreamsConfig
from headrace.errors import ConfigError, OperatorTypeError, debugging
from headrace.records import Headers
from headrace.task import handlers
from headrace.task.handlers import Decision, ErrorHandlerContext


def config(**settings: Any) -> StreamsConfig:
    return StreamsConfig({"application.id": "app", **{name.replace("_", "."): v for name, v in settings.items()}})


CONTEXT = ErrorHandlerContext("in", 0, 7, Headers([("h", b"1")]), "node", "0_0", 5, b"k", b"v")


def test_the_default_is_to_fail() -> None:
    for handle in (
        handlers.deserialization_handler(config()),
        handlers.processing_handler(config()),
        handlers.production_handler(config()).handle,
    ):
        assert handlers.ask(handle, CONTEXT, None, ValueError("x")).decision is Decision.FAIL


def test_log_and_continue_goes_on() -> None:
    handle = handlers.processing_handler(config(processing_exception_handler="log_and_continue"))
    assert handlers.ask(handle, CONTEXT, None, ValueError("x")).decision is Decision.RESUME


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the handlers of a driver log about three records, two of which are skipped."""
    builder = StreamsBuilder()
    builder.stream("in", value_serde=serdes.json()).map_values(lambda row: row["n"]).to(
        "out", value_serde=serdes.json()
    )
    skipping = {
        f"{kind}.exception.handler": "log_and_continue" for kind in ("deserialization", "processing", "production")
    }
    with TopologyTestDriver(builder.build(), skipping) as driver:
        driver.create_input_topic("in").pipe_value_list(["{", '{"m": 1}', '{"n": 1}'])
        assert driver.create_output_topic("out", value_serde=serdes.json()).read_values_to_list() == [1]
        assert driver.dropped_records == 2
    return caplog.text.splitlines()


def test_a_record_that_is_skipped_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    unreadable, failed = told(caplog)

    assert "KSTREAM-SOURCE-0000000000 of task 0_0, record in-0@0: json() cannot read the bytes" in unreadable
    assert "KSTREAM-MAPVALUES-0000000001 of task 0_0, record in-0@1: KeyError: 'n' (" in failed
    assert re.search(r"test_handlers\.py:\d+\)$", failed)


def test_debugging_shows_where_it_happened(caplog: pytest.LogCaptureFixture) -> None:
    with debugging(is_wanted=True):
        assert "Traceback (most recent call last):" in told(caplog)


def test_what_cannot_be_written_is_told_by_its_part(caplog: pytest.LogCaptureFixture) -> None:
    handler = handlers.ContinueProductionExceptionHandler()
    handler.handle_serialization_error(CONTEXT, None, ValueError("too long\nby far"), handlers.SerializationOrigin.KEY)
    assert caplog.messages == [
        "serialization of the key failed at node node of task 0_0, record in-0@7: ValueError: too long"
    ]


def test_a_dead_letter_holds_the_source_record_and_tells_the_error() -> None:
    handle = handlers.processing_handler(
        config(**{"processing.exception.handler": "log_and_continue", "errors.dead.letter.queue.topic.name": "dlq"})
    )
    (letter,) = handlers.ask(handle, CONTEXT, None, ValueError("broken")).dead_letters
    assert letter[:5] == ("dlq", None, 5, b"k", b"v")
    assert [name for name, _ in letter.headers] == [
        "h",
        "__streams.errors.exception",
        "__streams.errors.message",
        "__streams.errors.stacktrace",
        "__streams.errors.topic",
        "__streams.errors.partition",
        "__streams.errors.offset",
    ]
    assert letter.headers.last("__streams.errors.exception") == b"builtins.ValueError"
    assert letter.headers.last("__streams.errors.message") == b"broken"
    assert letter.headers.last("__streams.errors.offset") == b"7"


def test_a_function_is_a_handler() -> None:
    seen: list[Any] = []

    def note(context: Any, record: Any, error: Any) -> handlers.Response:
        seen.append((context.node, record, str(error)))
        return handlers.resume()

    handle = handlers.processing_handler(config(processing_exception_handler=note))
    assert handlers.ask(handle, CONTEXT, "record", ValueError("x")) == handlers.resume()
    assert seen == [("node", "record", "x")]


def test_a_production_function_may_take_the_origin_or_not() -> None:
    def short(context: Any, record: Any, error: Any) -> handlers.Response:
        return handlers.resume()

    def long(context: Any, record: Any, error: Any, origin: Any = None) -> handlers.Response:
        return handlers.resume() if origin == "KEY" else handlers.fail()

    for handler, decision in ((short, Decision.RESUME), (long, Decision.FAIL)):
        resolved = handlers.production_handler(config(production_exception_handler=handler))
        answer = resolved.handle_serialization_error(CONTEXT, None, ValueError(), handlers.SerializationOrigin.VALUE)
        assert answer is not None
        assert answer.decision is decision


def test_an_object_is_configured_once() -> None:
    class Counting:
        configured: Any = None

        def configure(self, settings: Any) -> None:
            self.configured = settings["application.id"]

        def handle(self, context: Any, record: Any, error: Any) -> handlers.Response:
            return handlers.fail()

    counting = Counting()
    handlers.processing_handler(config(processing_exception_handler=counting))
    assert counting.configured == "app"


def test_an_answer_that_is_none_is_refused() -> None:
    with pytest.raises(OperatorTypeError, match="must return a Response"):
        handlers.ask(lambda *_: None, CONTEXT, None, ValueError())


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ConfigError, match="log_and_pray"):
        handlers.processing_handler(config(processing_exception_handler="log_and_pray"))


def test_the_default_production_handler_retries_what_may_pass() -> None:
    class Busy(Exception):
        retriable = True

    resolved = handlers.production_handler(config())
    assert handlers.ask(resolved.handle, CONTEXT, None, Busy()).decision is Decision.RETRY
