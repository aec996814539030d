"""Topics, offsets, producing, transactions: one port (``headrace.broker.port``) and the brokers behind it.

``open_broker`` takes what ``bootstrap.servers`` says and gives a broker; nothing above this package knows which one.
"""

from __future__ import annotations

import difflib
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from headrace.errors import ArgumentError, ConfigError, UnsupportedError

if TYPE_CHECKING:
    from headrace.broker.port import Broker

__all__ = ["BROKER_VARIABLE", "DEFAULT_BROKER", "embedded_directory", "open_broker"]

DEFAULT_BROKER = "embedded:headrace-data"
"""Where the topics are unless ``bootstrap.servers`` says otherwise."""
BROKER_VARIABLE = "HEADRACE_BROKER"
"""The environment variable that tells the command line where they are."""
_EMBEDDED = "embedded:"


def open_broker(address: str, *, fsync: Literal["always", "never"] = "always") -> Broker:
    """The broker at ``address``: ``embedded:DIRECTORY``. With ``fsync="never"`` a power loss may cost the last records.

    >>> broker = open_broker("embedded:" + getfixture("tmp_path").as_posix())
    >>> broker.create_topic("clicks", partitions=2)
    >>> broker.topics()
    {'clicks': 2}
    >>> broker.close()
    """
    if not isinstance(address, str) or not address.startswith(_EMBEDDED):
        raise _no_broker(address)
    directory = address.removeprefix(_EMBEDDED)
    if not directory or "\0" in directory:
        message = f"{address!r} names no directory"
        raise ArgumentError(message, hint="Write it as embedded:DIRECTORY, for instance embedded:headrace-data.")
    if fsync not in {"always", "never"}:
        message = f"fsync must be 'always' or 'never', found {fsync!r}"
        raise ConfigError(message)
    try:
        embedded = importlib.import_module("headrace.broker.embedded")
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        hint = "Install it: pip install 'headrace[spark]'"
        raise UnsupportedError("the embedded broker needs pyarrow", hint=hint) from error
    return embedded.EmbeddedBroker(directory, fsync=fsync == "always")  # type: ignore[no-any-return]


def embedded_directory(address: str) -> Path | None:
    """The directory of an embedded broker; None for any other address.

    >>> embedded_directory("embedded:data"), embedded_directory("localhost:9092")
    (PosixPath('data'), None)
    """
    directory = address.removeprefix(_EMBEDDED)
    return Path(directory).expanduser() if directory and directory != address else None


def _no_broker(address: object) -> UnsupportedError:
    message = f"no broker can be opened at {address!r}"
    kind, _, rest = str(address).partition(":")
    if difflib.get_close_matches(kind.lower(), [_EMBEDDED.rstrip(":")]):
        return UnsupportedError(message, hint=f"Did you mean embedded:{rest or 'DIRECTORY'}?")
    hint = "Kafka is not supported yet. Use the embedded broker, a directory: embedded:DIRECTORY."
    return UnsupportedError(message, hint=hint)
