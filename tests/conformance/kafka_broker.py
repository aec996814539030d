"""Kafka for cases: one broker for each process that runs them, and nothing left on it between two cases."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from headrace.broker import BrokerConfig, open_broker
from headrace.broker.config import broker_settings
from headrace.broker.kafka import groups, metadata, offsets
from headrace.broker.kafka.clients import Clients
from headrace.broker.port import Broker
from tests.kafka.servers import end, small_server

# Some cases are about the far future.
_SETTINGS = {"log.message.timestamp.after.max.ms": str(2**63 - 1)}
_SECONDS = 120.0
_PAUSE_SECONDS = 0.005


@contextmanager
def kafka_broker(directory: Path, settings: Mapping[str, Any]) -> Iterator[Broker]:
    """The broker of this process, without topics; afterwards whatever the case left is deleted."""
    broker = open_broker(BrokerConfig(_server_address(), broker_settings(settings)))
    try:
        yield broker
    finally:
        broker.close()
        _delete_everything()


def _delete_everything() -> None:
    """Groups and topics, each with one request; returns when nobody is told of a topic any more."""
    clients = _clients()
    names, topics = groups.names(clients), list(metadata.counts(clients))
    for deleted in clients.admin().delete_consumer_groups(names).values() if names else ():
        # A group that is gone with its offsets is no failure.
        deleted.exception(_SECONDS)
    for deleted in clients.admin().delete_topics(topics).values() if topics else ():
        deleted.result(_SECONDS)
    deadline = time.monotonic() + _SECONDS
    while left := metadata.counts(clients):
        if time.monotonic() > deadline:
            message = f"topics were deleted and are there: {', '.join(left)}"
            raise TimeoutError(message)
        time.sleep(_PAUSE_SECONDS)


def wait_for_markers() -> None:
    """Wait until no transaction is open: a commit is answered before its markers are written to all partitions.

    Up to its marker nobody may read a partition, so its last stable offset is behind its end.
    """
    clients = _clients()
    # Asked of these clients, so that they know the topics of this case and not those of the last one.
    places = [(topic, number) for topic, count in metadata.counts(clients).items() for number in range(count)]
    deadline = time.monotonic() + _SECONDS
    while places:
        written = offsets.next_offsets(clients, places)
        readable = offsets.ends(clients, places)
        places = [place for place in places if readable[place] < written[place]]
        if places and time.monotonic() > deadline:
            message = f"a transaction is open in {places} for {_SECONDS:g} s"
            raise TimeoutError(message)
        time.sleep(_PAUSE_SECONDS if places else 0)


@cache
def _clients() -> Clients:
    """Those that ask for offsets, as long as the process lives."""
    return Clients(BrokerConfig(_server_address()))


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
