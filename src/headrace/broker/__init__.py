"""Topics, offsets, producing, transactions: three ports (``headrace.broker.port``) and the brokers behind them.

``open_broker`` takes what ``bootstrap.servers`` says and gives a broker; nothing above this package knows which one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from headrace.broker.config import BrokerConfig
from headrace.errors import ArgumentError, ConfigError, UnsupportedError
from headrace.optional import extra_for

if TYPE_CHECKING:
    from headrace.broker.port import Broker

__all__ = [
    "BROKER_VARIABLE",
    "DEFAULT_BROKER",
    "BrokerConfig",
    "embedded_directory",
    "no_broker",
    "open_broker",
    "servers",
]

DEFAULT_BROKER = "embedded:headrace-data"
"""Where the topics are unless ``bootstrap.servers`` says otherwise."""
BROKER_VARIABLE = "HEADRACE_BROKER"
"""The environment variable that tells the command line where they are."""
_EMBEDDED = "embedded:"
_SERVER = re.compile(
    r"\s*(?:(?:SASL_)?(?:PLAINTEXT|SSL)://)?(?P<host>[\w.-]+|\[[0-9A-Fa-f:.%\w]+\]):(?P<port>\d{1,5})\s*", re.IGNORECASE
)


def open_broker(where: BrokerConfig | str, *, fsync: Literal["always", "never"] = "always") -> Broker:
    """The broker at an address: ``embedded:DIRECTORY``, or Kafka's ``host:port,host:port``. With ``fsync="never"``
    a power loss may cost an embedded broker the last records.

    A broker serves the process that opened it. Another one, a forked child as well, opens its own from ``config``.

    >>> broker = open_broker("embedded:" + getfixture("tmp_path").as_posix())
    >>> broker.create_topic("clicks", partitions=2)
    >>> broker.topics()
    {'clicks': 2}
    >>> broker.close()
    """
    if fsync not in {"always", "never"}:
        message = f"fsync must be 'always' or 'never', found {fsync!r}"
        raise ConfigError(message)
    config = where if isinstance(where, BrokerConfig) else BrokerConfig(where, fsync=fsync == "always")
    if not isinstance(config.address, str):
        raise no_broker(config.address)
    return opener(config.address)(config)


def opener(address: str) -> Callable[[BrokerConfig], Broker]:
    """What opens the broker at an address. To import that takes longer than to open it, and can be done before."""
    return _embedded(address) if address.startswith(_EMBEDDED) else _kafka(address)


def _embedded(address: str) -> Callable[[BrokerConfig], Broker]:
    directory = address.removeprefix(_EMBEDDED)
    if not directory or "\0" in directory:
        message = f"{address!r} names no directory"
        raise ArgumentError(message, hint="Write it as embedded:DIRECTORY, for instance embedded:headrace-data.")
    with extra_for("the embedded broker"):
        from headrace.broker.embedded import EmbeddedBroker  # noqa: PLC0415
    return lambda config: EmbeddedBroker(directory, fsync=config.fsync, verify=config.verify)


def _kafka(address: str) -> Callable[[BrokerConfig], Broker]:
    if not all(_SERVER.fullmatch(each) for each in address.split(",")):
        raise no_broker(address)
    with extra_for("Kafka"):
        from headrace.broker.kafka.broker import KafkaBroker  # noqa: PLC0415
    return KafkaBroker


def servers(address: str) -> list[tuple[str, int]]:
    """The hosts and ports of Kafka's brokers; none where the address is that of an embedded one.

    >>> servers("one:9092, SSL://two:9093"), servers("embedded:data")
    ([('one', 9092), ('two', 9093)], [])
    """
    found = map(_SERVER.fullmatch, address.split(","))
    return [(each["host"].strip("[]"), int(each["port"])) for each in found if each is not None]


def embedded_directory(address: str) -> Path | None:
    """The directory of an embedded broker; None for any other address.

    >>> embedded_directory("embedded:data"), embedded_directory("localhost:9092")
    (PosixPath('data'), None)
    """
    directory = address.removeprefix(_EMBEDDED)
    return Path(directory).expanduser() if directory and directory != address else None


def no_broker(address: object) -> UnsupportedError:
    """The error for an address that is none."""
    message = f"no broker can be opened at {address!r}"
    kind, _, rest = str(address).partition(":")
    if difflib.get_close_matches(kind.lower(), [_EMBEDDED.rstrip(":")]):
        return UnsupportedError(message, hint=f"Did you mean embedded:{rest or 'DIRECTORY'}?")
    hint = "Kafka's brokers are given as host:port,host:port; the embedded broker is a directory: embedded:DIRECTORY."
    return UnsupportedError(message, hint=hint)
