"""Every error a user of Headrace can meet, by what the caller does next.

A message says what failed; ``detail`` shows the values seen, ``hint`` the next move, ``at`` the place:
the step of the topology, the record, and the line of the user's program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from headrace.libraries import LIBRARIES, PACKAGE

if TYPE_CHECKING:
    from types import FrameType

_COMMANDS = f"{PACKAGE}cli{os.sep}"


class HeadraceError(Exception):
    """The root of all errors that Headrace raises on purpose."""

    def __init__(
        self, message: str, *, detail: str | None = None, hint: str | None = None, at: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.at = at

    def __str__(self) -> str:
        lines = [self.message]
        lines += [f"  {name}: {text}" for name, text in self._parts() if text]
        return "\n".join(lines)

    def _parts(self) -> tuple[tuple[str, str | None], ...]:
        return ("detail", self.detail), ("hint", self.hint), ("at", self.at)


def in_short(error: BaseException) -> str:
    r"""What went wrong, on one line, without a hint: for the log, where what there is to do is being done.

    >>> in_short(HeadraceError("the disk is full", detail="/var:\n0 bytes free", hint="Make room."))
    'the disk is full: /var: 0 bytes free'
    >>> in_short(KeyError())
    'KeyError'
    """
    said = [error.message, error.detail] if isinstance(error, HeadraceError) else [str(error)]
    return " ".join(": ".join(filter(None, said)).split()) or type(error).__name__


class ArgumentError(HeadraceError, ValueError):
    """An argument has a value that makes no sense; correct the call. Java: IllegalArgumentException."""


class OperatorTypeError(ArgumentError, TypeError):
    """An operator got something of the wrong kind: a function that takes another number of arguments, a null."""


class IllegalStateError(HeadraceError, RuntimeError):
    """The call is right but comes at the wrong time. Java: IllegalStateException."""


class UnsupportedError(HeadraceError, RuntimeError):
    """The object cannot do that, for instance write to a read-only store. Java: UnsupportedOperationException."""


class TopologyError(HeadraceError, ValueError):
    """The topology cannot be built as described. Java: TopologyException."""


class ConfigError(HeadraceError, ValueError):
    """A setting is missing, unknown or out of range. Java: ConfigException."""


class SerializationError(HeadraceError, ValueError):
    """A value could not be turned into bytes or bytes into a value."""

    is_told = False
    """Whether whoever raised it told of it in a log of its own: no handler tells it again."""


class WrongTypeError(SerializationError, TypeError):
    """A serde got a value of a type it does not write: no handler can mend that. Java: ClassCastException."""


class StreamsError(HeadraceError, RuntimeError):
    """Processing failed; the task stops unless a handler decides otherwise. Java: StreamsException."""


class ProcessingError(StreamsError):
    """A function or processor of the user raised; the handler said to fail. The cause is what was raised."""


class StoreError(StreamsError):
    """A state store failed or cannot be used now. Java: ProcessorStateException, InvalidStateStoreException."""


class StateDirectoryError(StoreError):
    """The state directory cannot be written or read: no space, no access, a failing disk. Mend that, start again."""


class UnreadableStateError(StoreError, SerializationError):
    """A store holds bytes that its serde cannot read: another serde wrote them, or its changelog was tampered with."""


class TaskCorruptedError(StreamsError):
    """The task's local state can no longer be trusted; its host restores it from what was committed."""


class TaskMigratedError(StreamsError):
    """The task now runs elsewhere; its host drops it without committing."""


class MissingSourceTopicError(StreamsError, LookupError):
    """A topic that the application reads does not exist; create it. Java: MissingSourceTopicException."""


class MissingOutputTopicError(StreamsError, LookupError):
    """A topic that the application writes to was deleted while it ran; create it again, or reset the application."""


class InternalTopicError(StreamsError):
    """A topic of the application's own exists, but not as it is needed; mend it, or reset the application."""


class OffsetError(StreamsError):
    """There is no position to read a partition from: none is committed, or what it points to is gone."""


class UpgradeError(StreamsError):
    """The state that an application left cannot follow the changes of its topology."""


class UnknownStoreError(StoreError, LookupError):
    """There is no store of that name."""


class UnknownTopicError(ArgumentError, LookupError):
    """The topology does not read that topic, or the broker does not have it."""


class EmptyTopicError(HeadraceError, LookupError):
    """There is no record to read from the output topic. Java: NoSuchElementException."""


class BrokerError(HeadraceError, RuntimeError):
    """The broker could not do what was asked. Nothing of it took effect, unless the class says otherwise."""


class BrokerUnreachableError(BrokerError):
    """Kafka does not answer, or the part of it that is needed: wait and try again. What was sent may have arrived."""


class AuthenticationError(BrokerUnreachableError, ConfigError):
    """Kafka does not accept who we say we are, or we do not accept it: correct the settings, or what the cluster knows.

    Java: AuthenticationException.
    """


class AuthorizationError(BrokerError):
    """The cluster does not allow it to us: ask for an ACL, or do without. Java: AuthorizationException."""


class BrokerGoneError(BrokerError):
    """The directory of the embedded broker was removed or replaced while it was open."""


class TopicExistsError(BrokerError):
    """There is a topic of that name already."""


class OffsetOutOfRangeError(BrokerError, LookupError):
    """The partition does not hold that offset: retention removed it, or it was never written."""


class RecordTooLargeError(BrokerError, ValueError):
    """The record is larger than its topic allows; send less, or raise max.message.bytes."""


class CorruptLogError(BrokerError):
    """What is on disk is not what was written there. Never skipped silently: restore the file, or give it up."""


class LeaseHeldError(BrokerError):
    """Another live process runs the application; stop that one, or use another application id."""


class FencedError(BrokerError):
    """A newer process took the application over; stop without committing. Java: ProducerFencedException."""


class NotDecidedError(BrokerError):
    """The broker did not take a batch, though nothing is wrong with it: it runs again."""


class OutcomeUnknownError(BrokerError):
    """The answer to a commit was lost, and the broker cannot say yet what became of it: ask later, never guess."""


class SetupError(HeadraceError, RuntimeError):
    """The machine lacks what an application needs, for instance Java; the hint says what to do about it."""


class InternalError(HeadraceError):
    """Headrace broke one of its own rules. This is our bug: please report it with the traceback."""


_DEBUG_VARIABLE = "HEADRACE_DEBUG"


def is_debugging() -> bool:
    """Whether tracebacks show what Headrace does inside, too: ``--debug``, or the variable HEADRACE_DEBUG."""
    return os.environ.get(_DEBUG_VARIABLE, "0") not in {"", "0"}


@contextmanager
def debugging(is_wanted: bool) -> Iterator[None]:
    """Show all of it inside the block, in processes that are started there too."""
    before = os.environ.get(_DEBUG_VARIABLE)
    if is_wanted:
        os.environ[_DEBUG_VARIABLE] = "1"
    try:
        yield
    finally:
        os.environ.pop(_DEBUG_VARIABLE, None)
        if before is not None:
            os.environ[_DEBUG_VARIABLE] = before


def user_line() -> str | None:
    """``file:line`` of the user's program that called Headrace; None where a command did.

    That is the innermost caller in no library; where all of them are, the innermost.
    """
    caller, frame = None, cast("FrameType | None", sys._getframe(1))
    while frame is not None and not frame.f_code.co_filename.startswith(_COMMANDS):
        file = frame.f_code.co_filename
        if not file.startswith(PACKAGE):
            if not file.startswith(LIBRARIES):
                return f"{file}:{frame.f_lineno}"
            caller = caller or f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return caller


def __dir__() -> list[str]:
    classes = {name: each for name, each in globals().items() if isinstance(each, type)}
    return sorted(name for name, each in classes.items() if issubclass(each, HeadraceError))
