"""From our errors to the names that Java gives to theirs: an error is equal when its kind and its place are."""

from __future__ import annotations

from headrace import errors
from tests.conformance.functions import TestError

_JAVA: tuple[tuple[type[BaseException], str], ...] = (
    (TestError, "TestError"),
    (errors.OperatorTypeError, "NullPointerException"),
    (errors.UnsupportedError, "UnsupportedOperationException"),
    (errors.EmptyTopicError, "NoSuchElementException"),
    (errors.ConfigError, "ConfigException"),
    (errors.TopologyError, "TopologyException"),
    (errors.SerializationError, "SerializationException"),
    (errors.ArgumentError, "IllegalArgumentException"),
    (errors.IllegalStateError, "IllegalStateException"),
    (errors.StoreError, "ProcessorStateException"),
    (errors.StreamsError, "StreamsException"),
    (IndexError, "IndexOutOfBoundsException"),
)

_SAME_KIND = {
    "FailedProcessingException": "StreamsException",
    "InvalidStateStoreException": "ProcessorStateException",
}


def java_class(error: BaseException) -> str:
    """Java's simple class name for one of our errors; the Python name where there is none."""
    return _java_class_of(type(error))


def java_class_named(path: str) -> str:
    """The same for the dotted name of one of our errors; other names lose only their path."""
    name = path.rpartition(".")[2]
    kind = getattr(errors, name, None)
    return _java_class_of(kind) if isinstance(kind, type) else name


def _java_class_of(kind: type[BaseException]) -> str:
    for ours, name in _JAVA:
        if issubclass(kind, ours):
            return name
    return kind.__name__


def same_kind(expected: str, error: BaseException) -> bool:
    """Whether ``error`` is of the kind that Java calls ``expected``.

    An operator that is given a wrong argument raises OperatorTypeError where Java has either of two exceptions.
    """
    expected = _SAME_KIND.get(expected, expected)
    if expected == "IllegalArgumentException":
        return isinstance(error, errors.ArgumentError)
    return java_class(error) == expected
