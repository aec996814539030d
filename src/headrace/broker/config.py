"""What it takes to open a broker: it travels to every process that opens one, and each opens its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """An address and the settings of the clients. Settings may be secret: they are never shown.

    >>> BrokerConfig("localhost:9092", {"sasl.password": "x"})
    BrokerConfig(address='localhost:9092', fsync=True)
    """

    address: str
    """What ``bootstrap.servers`` says."""
    settings: Mapping[str, object] = field(default_factory=dict, repr=False)
    """Those that begin with ``consumer.``, ``producer.``, ``admin.``, ``security.``, ``sasl.`` or ``ssl.``."""
    fsync: bool = True
    """Whether what an embedded broker acknowledged survives a power loss."""
    verify: bool = field(default=True, repr=False)
    """Whether the catalog of an embedded broker is verified when it is opened."""
