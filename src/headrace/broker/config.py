"""What it takes to open a broker: it travels to every process that opens one, and each opens its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

_PREFIXES = (
    "consumer.",
    "main.consumer.",
    "restore.consumer.",
    "global.consumer.",
    "producer.",
    "admin.",
    "security.",
    "sasl.",
    "ssl.",
)
_NAMES = frozenset(
    {
        "client.id",
        "connections.max.idle.ms",
        "metadata.max.age.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "processing.guarantee",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "replication.factor",
        "request.timeout.ms",
        "retry.backoff.ms",
        "send.buffer.bytes",
        "staging.dir",
        "state.dir",
    }
)


def broker_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of an application's settings that whoever opens its broker needs.

    >>> broker_settings({"application.id": "views", "consumer.fetch.min.bytes": 1, "security.protocol": "SSL"})
    {'consumer.fetch.min.bytes': 1, 'security.protocol': 'SSL'}
    """
    return {
        name: str(value) if isinstance(value, PurePath) else value
        for name, value in given.items()
        if name in _NAMES or name.startswith(_PREFIXES)
    }


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """An address and the settings of the clients. Settings may be secret: they are never shown.

    >>> BrokerConfig("localhost:9092", {"sasl.password": "x"})
    BrokerConfig(address='localhost:9092', fsync=True)
    """

    address: str
    """What ``bootstrap.servers`` says."""
    settings: Mapping[str, object] = field(default_factory=dict, repr=False)
    """What ``broker_settings`` picks: they travel to every process that opens the broker."""
    fsync: bool = True
    """Whether what an embedded broker acknowledged survives a power loss."""
    verify: bool = field(default=True, repr=False)
    """Whether the catalog of an embedded broker is verified when it is opened."""
    publisher: int = field(default=0, repr=False)
    """On Kafka: which of the publishers of an application this process is."""

    def for_applications(self) -> dict[str, object]:
        """The settings of an application on this broker."""
        return {"bootstrap.servers": self.address, **self.settings}


def exactly_once(where: BrokerConfig | str) -> BrokerConfig:
    """The same broker, for whoever wants every decision to count once unless it says otherwise.

    >>> exactly_once("localhost:9092").settings
    {'processing.guarantee': 'exactly_once_v2'}
    """
    config = where if isinstance(where, BrokerConfig) else BrokerConfig(where)
    return replace(config, settings={"processing.guarantee": "exactly_once_v2", **config.settings})
