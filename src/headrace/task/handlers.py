"""What happens to a record that cannot be read, processed or written: the three exception handlers.

A handler is a function ``(context, record, error)`` that returns a ``Response``: go on without the record
(``resume()``), ``fail()``, or (production only) ``retry()``; the first two may bring dead-letter records (KIP-1034).
An object with a method ``handle`` of that form is a handler too; its ``configure(config)``, if it has one, is called
before the task starts. A production handler gets a fourth argument, ``origin``, where serialisation failed; an object
may take those calls in ``handle_serialization_error`` instead.
"""

from __future__ import annotations

import inspect
import logging
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.errors import ConfigError, OperatorTypeError, is_debugging
from headrace.records import NO_HEADERS, Headers, RecordContext
from headrace.task.failures import headline, note_part, noted_part, raised_at, text_of

__all__ = [
    "DEAD_LETTER_TOPIC",
    "ContinueProductionExceptionHandler",
    "Decision",
    "DefaultProductionExceptionHandler",
    "ErrorHandlerContext",
    "LogAndContinueExceptionHandler",
    "LogAndContinueProcessingExceptionHandler",
    "LogAndFailExceptionHandler",
    "LogAndFailProcessingExceptionHandler",
    "ProducedRecord",
    "Response",
    "SerializationOrigin",
    "dead_letter",
    "fail",
    "resume",
    "retry",
]

if TYPE_CHECKING:
    from headrace.config import StreamsConfig

log = logging.getLogger(__name__)

DEAD_LETTER_TOPIC = "errors.dead.letter.queue.topic.name"


class ProducedRecord(NamedTuple):
    """A record as it goes to a topic; ``partition`` is None where the key decides, ``timestamp`` where the producer."""

    topic: str
    partition: int | None
    timestamp: int | None
    key: Any
    value: Any
    headers: Headers = NO_HEADERS


class Decision(Enum):
    """What a handler wants to happen next."""

    RESUME = "resume"
    FAIL = "fail"
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class Response:
    """A handler's answer: a decision and dead-letter records. Made by ``resume``, ``fail`` and ``retry``."""

    decision: Decision
    dead_letters: tuple[ProducedRecord, ...] = ()


def resume(dead_letters: Iterable[ProducedRecord] = ()) -> Response:
    """Go on without the record; it counts as dropped.

    >>> builder = StreamsBuilder()
    >>> builder.stream("in").map_values(int).map_values(str).to("out")
    >>> settings = {"processing.exception.handler": lambda context, record, error: resume()}
    >>> with TopologyTestDriver(builder.build(), settings) as driver:
    ...     driver.create_input_topic("in").pipe_value_list(["1", "x", "3"])
    ...     driver.create_output_topic("out").read_values_to_list(), driver.dropped_records
    (['1', '3'], 1)
    """
    return Response(Decision.RESUME, tuple(dead_letters))


def fail(dead_letters: Iterable[ProducedRecord] = ()) -> Response:
    """Stop the task with the error.

    >>> fail().decision
    <Decision.FAIL: 'fail'>
    """
    return Response(Decision.FAIL, tuple(dead_letters))


def retry() -> Response:
    """Start the task again from what it last committed; only for errors of the producer that may pass.

    For any other error it means ``fail``.

    >>> retry().decision
    <Decision.RETRY: 'retry'>
    """
    return Response(Decision.RETRY)


class SerializationOrigin(str, Enum):
    """Which part of a record could not be written."""

    KEY = "KEY"
    VALUE = "VALUE"


@dataclass(frozen=True, slots=True)
class ErrorHandlerContext:
    """Where an error happened: the source record (its raw bytes too, where still known), the node and the task."""

    topic: str | None
    partition: int
    offset: int
    headers: Headers
    node: str | None
    task_id: str
    timestamp: int
    source_raw_key: bytes | None = None
    source_raw_value: bytes | None = None

    @classmethod
    def of(cls, context: RecordContext | None, node: str | None, task_id: str) -> ErrorHandlerContext:
        """From the context of the current record."""
        if context is None:
            return cls(None, -1, -1, NO_HEADERS, node, task_id, -1)
        timestamp, offset, partition, topic, headers, raw_key, raw_value = context
        return cls(topic, partition, offset, headers, node, task_id, timestamp, raw_key, raw_value)


Handle = Callable[..., "Response | None"]
"""A handler as it is called: ``(context, record, error)``, and ``origin`` where serialisation failed."""


class ProductionHandler(NamedTuple):
    """The two calls of a production handler."""

    handle: Handle
    handle_serialization_error: Handle


def dead_letter(topic: str, context: ErrorHandlerContext, error: BaseException) -> ProducedRecord:
    """The source record for the dead-letter ``topic``, with headers that tell what went wrong and where.

    >>> context = ErrorHandlerContext("in", 0, 5, Headers(), "map", "0_0", timestamp=7, source_raw_value=b"x")
    >>> letter = dead_letter("broken", context, ValueError("not a number"))
    >>> letter.topic, letter.value, letter.headers.last("__streams.errors.message")
    ('broken', b'x', b'not a number')
    """
    told = {
        "exception": f"{type(error).__module__}.{type(error).__qualname__}",
        "message": getattr(error, "message", text_of(error)),
        "stacktrace": "".join(traceback.format_exception(type(error), error, error.__traceback__)),
        "topic": context.topic,
        "partition": str(context.partition),
        "offset": str(context.offset),
    }
    headers = Headers(
        (*context.headers, *((f"__streams.errors.{name}", _encoded(text)) for name, text in told.items()))
    )
    return ProducedRecord(topic, None, context.timestamp, context.source_raw_key, context.source_raw_value, headers)


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _told(error: Exception) -> str:
    line = raised_at(error)
    return headline(error) if line is None else f"{headline(error)} ({line})"


class _LoggingHandler:
    """Logs, writes a dead letter where a topic is configured, and gives its fixed answer.

    A record is one line; its traceback is shown when debugging.
    """

    _what = "processing"
    _decision = Decision.FAIL

    def __init__(self) -> None:
        self.dead_letter_topic: str | None = None

    def configure(self, config: Mapping[str, Any]) -> None:
        topic = config.get(DEAD_LETTER_TOPIC)
        self.dead_letter_topic = None if topic is None else str(topic)

    def handle(self, context: ErrorHandlerContext, record: Any, error: Exception) -> Response:
        return self._answer(self._what, context, error)

    def _answer(self, what: str, context: ErrorHandlerContext, error: Exception) -> Response:
        # What fails is raised as well; once is enough.
        is_told = self._decision is Decision.FAIL or getattr(error, "is_told", False)
        part = noted_part(error)
        level = logging.DEBUG if is_told else logging.WARNING
        log.log(
            level,
            "%s failed at node %s of task %s, record %s-%s@%s: %s",
            what if part is None else f"{what} of the {part}",
            context.node,
            context.task_id,
            context.topic,
            context.partition,
            context.offset,
            _told(error),
            exc_info=error if is_debugging() else None,
        )
        return Response(self._decision, self.dead_letters(context, error))

    def dead_letters(self, context: ErrorHandlerContext, error: BaseException) -> tuple[ProducedRecord, ...]:
        """The dead letter for the source record, where a topic is configured."""
        if self.dead_letter_topic is None:
            return ()
        return (dead_letter(self.dead_letter_topic, context, error),)


class LogAndFailExceptionHandler(_LoggingHandler):
    """A record that cannot be read stops the task: the default, ``"log_and_fail"``."""

    _what = "deserialization"


class LogAndContinueExceptionHandler(_LoggingHandler):
    """A record that cannot be read is skipped and counted as dropped: ``"log_and_continue"``.

    >>> builder = StreamsBuilder()
    >>> builder.stream("in", value_serde=serdes.json()).to("out")
    >>> settings = {"deserialization.exception.handler": "log_and_continue"}
    >>> with TopologyTestDriver(builder.build(), settings) as driver:
    ...     driver.create_input_topic("in").pipe_value_list(["1", "{"])
    ...     driver.dropped_records_by_reason
    {'the record could not be deserialized': 1}
    """

    _what = "deserialization"
    _decision = Decision.RESUME


class LogAndFailProcessingExceptionHandler(_LoggingHandler):
    """A function that raises stops the task: the default, ``"log_and_fail"``."""


class LogAndContinueProcessingExceptionHandler(_LoggingHandler):
    """A record whose processing raises is given up at that node; its siblings go on: ``"log_and_continue"``."""

    _decision = Decision.RESUME


class DefaultProductionExceptionHandler(_LoggingHandler):
    """A record that cannot be written stops the task, unless trying again may help: ``"default"``."""

    _what = "production"

    def handle(self, context: ErrorHandlerContext, record: Any, error: Exception) -> Response:
        """Retry what the client calls retriable, fail on the rest."""
        if is_retriable(error):
            return retry()
        return Response(Decision.FAIL, self.dead_letters(context, error))

    def handle_serialization_error(
        self, context: ErrorHandlerContext, record: Any, error: Exception, origin: SerializationOrigin
    ) -> Response:
        return Response(Decision.FAIL, self.dead_letters(context, error))


class ContinueProductionExceptionHandler(_LoggingHandler):
    """A record that cannot be written is dropped and counted: ``"continue"``."""

    _what = "production"
    _decision = Decision.RESUME

    def handle_serialization_error(
        self, context: ErrorHandlerContext, record: Any, error: Exception, origin: SerializationOrigin
    ) -> Response:
        note_part(error, origin.value.lower())
        return self._answer("serialization", context, error)


def is_retriable(error: BaseException) -> bool:
    """Whether the client that raised says that the same call may work later (``error.retriable``)."""
    retriable = getattr(error, "retriable", False)
    return bool(retriable() if callable(retriable) else retriable)


_DESERIALIZATION: dict[str, Callable[[], Any]] = {
    "log_and_fail": LogAndFailExceptionHandler,
    "log_and_continue": LogAndContinueExceptionHandler,
}
_PROCESSING: dict[str, Callable[[], Any]] = {
    "log_and_fail": LogAndFailProcessingExceptionHandler,
    "log_and_continue": LogAndContinueProcessingExceptionHandler,
}
_PRODUCTION: dict[str, Callable[[], Any]] = {
    "default": DefaultProductionExceptionHandler,
    "log_and_fail": DefaultProductionExceptionHandler,
    "continue": ContinueProductionExceptionHandler,
    "log_and_continue": ContinueProductionExceptionHandler,
}


def deserialization_handler(config: StreamsConfig) -> Handle:
    return _handle(_resolve(config, "deserialization.exception.handler", _DESERIALIZATION))


def processing_handler(config: StreamsConfig) -> Handle:
    return _handle(_resolve(config, "processing.exception.handler", _PROCESSING))


def production_handler(config: StreamsConfig) -> ProductionHandler:
    handler = _resolve(config, "production.exception.handler", _PRODUCTION)
    handle = _handle(handler)
    special = getattr(handler, "handle_serialization_error", None)
    return ProductionHandler(handle, special or (handle if _takes_origin(handle) else _without_origin(handle)))


def _handle(handler: Any) -> Handle:
    return getattr(handler, "handle", handler)  # type: ignore[no-any-return]


def _takes_origin(handle: Handle) -> bool:
    try:
        inspect.signature(handle).bind(None, None, None, None)
    except (TypeError, ValueError):
        return False
    return True


def _without_origin(handle: Handle) -> Handle:
    return lambda context, record, error, origin: handle(context, record, error)


def ask(handler: Handle, *arguments: Any) -> Response:
    """Call a handler and check that it answered."""
    response = handler(*arguments)
    if not isinstance(response, Response):
        message = f"an exception handler must return a Response, not {response!r}"
        raise OperatorTypeError(message, hint="Return handlers.resume() or handlers.fail().")
    return response


def _resolve(config: StreamsConfig, name: str, short_names: dict[str, Callable[[], Any]]) -> Any:
    chosen = config[name]
    if chosen is None:
        chosen = next(iter(short_names))
    if isinstance(chosen, str):
        if chosen not in short_names:
            message = f"{name} knows no handler called {chosen!r}"
            hint = f"Use one of {', '.join(short_names)}, or a function (context, record, error)."
            raise ConfigError(message, hint=hint)
        chosen = short_names[chosen]
    handler = chosen() if isinstance(chosen, type) else chosen
    if not callable(getattr(handler, "handle", handler)):
        message = f"{name} is no handler: {handler!r}"
        hint = "It must be a function (context, record, error), or have a method handle of that form."
        raise ConfigError(message, hint=hint)
    if hasattr(handler, "configure"):
        handler.configure(config.originals)
    return handler


def __dir__() -> list[str]:
    return __all__
