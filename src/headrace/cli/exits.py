"""Exit codes, and which error ends with which. They are stable: scripts may rely on them."""

from __future__ import annotations

from headrace.errors import (
    ArgumentError,
    BrokerUnreachableError,
    ConfigError,
    CorruptLogError,
    EmptyTopicError,
    FencedError,
    HeadraceError,
    LeaseHeldError,
    MissingOutputTopicError,
    MissingSourceTopicError,
    OffsetOutOfRangeError,
    RecordTooLargeError,
    SerializationError,
    TopicExistsError,
    UnknownStoreError,
    UnknownTopicError,
)

OK = 0
FAILED = 1
USAGE = 2
NOT_FOUND = 3
REFUSED = 4
BAD_DATA = 5
INTERRUPTED = 130
TERMINATED = 143

MEANINGS = {
    OK: "done",
    FAILED: "failed",
    USAGE: "the command was not understood: an unknown option, a value out of range",
    NOT_FOUND: "a topic, group, program or broker is not there",
    REFUSED: "refused: it exists already, is in use, or needs --yes",
    BAD_DATA: "a record cannot be read or written as asked",
    INTERRUPTED: "interrupted (Ctrl-C)",
    TERMINATED: "terminated (SIGTERM)",
}


class Terminated(BaseException):
    """SIGTERM came. Not an Exception: whoever answers failures must not take the end of the process for one."""


class UsageError(ArgumentError):
    """The command line asks for something that makes no sense."""


class NotFoundError(HeadraceError, LookupError):
    """What the command line names is not there."""


class RefusedError(HeadraceError):
    """It could be done, but would do harm now."""


# The first that fits: an unknown topic is an ArgumentError too.
_CODES: tuple[tuple[type[HeadraceError], int], ...] = (
    (NotFoundError, NOT_FOUND),
    (UnknownTopicError, NOT_FOUND),
    (BrokerUnreachableError, NOT_FOUND),
    (UnknownStoreError, NOT_FOUND),
    (MissingSourceTopicError, NOT_FOUND),
    (MissingOutputTopicError, NOT_FOUND),
    (EmptyTopicError, NOT_FOUND),
    (OffsetOutOfRangeError, NOT_FOUND),
    (RefusedError, REFUSED),
    (TopicExistsError, REFUSED),
    (LeaseHeldError, REFUSED),
    (FencedError, REFUSED),
    (RecordTooLargeError, BAD_DATA),
    (SerializationError, BAD_DATA),
    (CorruptLogError, BAD_DATA),
    (ArgumentError, USAGE),
    (ConfigError, USAGE),
)


def code_of(error: HeadraceError) -> int:
    """The exit code of ``error``.

    >>> code_of(UnknownTopicError("there is no topic 'x'")), code_of(ArgumentError("no such thing"))
    (3, 2)
    """
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)
