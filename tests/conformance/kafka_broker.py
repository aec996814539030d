"""Kafka for cases: one broker for each process that runs them, and nothing left on it between two cases."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from headrace.broker import BrokerConfig, open_broker
from headrace.broker.config import broker_settings
from headrace.broker.port import Broker
from headrace.errors import HeadraceError
from tests.kafka.servers import end, small_server

_SETTINGS = {
    # Cases are about 1970, and about the far future.
    "log.retention.check.interval.ms": "86400000",
    "log.initial.task.delay.ms": "86400000",
    "log.message.timestamp.after.max.ms": str(2**63 - 1),
}


@contextmanager
def kafka_broker(directory: Path, settings: Mapping[str, Any]) -> Iterator[Broker]:
    """The broker of this process, without topics; afterwards whatever the case left is deleted."""
    broker = open_broker(BrokerConfig(_server_address(), broker_settings(settings)))
    try:
        yield broker
    finally:
        for group in broker.groups():
            with suppress(HeadraceError):
                broker.delete_group(group)
        for topic in broker.topics():
            broker.delete_topic(topic)
        broker.close()


@cache
def _server_address() -> str:
    """Of a broker that is started by the first case and ends with the process."""
    directory = Path(tempfile.mkdtemp(prefix="headrace-cases-"))
    server = small_server(directory / "kafka", settings=_SETTINGS)

    def finish() -> None:
        end(server)
        shutil.rmtree(directory, ignore_errors=True)

    atexit.register(finish)
    server.start()
    return server.address
