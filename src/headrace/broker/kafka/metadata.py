"""Which topics a cluster has. Asking never makes one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException

from headrace.broker.kafka.clients import Clients
from headrace.commands import command
from headrace.errors import UnknownTopicError
from headrace.names import check_name

if TYPE_CHECKING:
    from confluent_kafka import Producer
    from confluent_kafka.admin import ClusterMetadata

INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
"""The cluster's own: nobody's business here."""
_PAUSE_SECONDS = 0.02


def counts(clients: Clients) -> dict[str, int]:
    """The names of all topics and their numbers of partitions."""
    while True:
        found = {
            name: len(topic.partitions)
            for name, topic in sorted(_asked(clients).topics.items())
            if name not in INTERNAL and topic.error is None
        }
        if clients.spreading <= found.keys():
            return found
        time.sleep(_PAUSE_SECONDS)


def cluster_id(clients: Clients) -> str:
    """Which cluster it is, whatever addresses lead to it; fit for the name of a directory."""
    found = _asked(clients).cluster_id or "cluster"
    check_name(found, "cluster id")
    return found


def _asked(clients: Clients) -> ClusterMetadata:
    with clients.told("list the topics"):
        return clients.patiently(lambda seconds: clients.admin().list_topics(timeout=seconds))


def check(clients: Clients, topic: str, partition: int = 0) -> None:
    """UnknownTopicError where there is no such topic or partition."""
    count = counts(clients).get(topic)
    if count is None:
        raise unknown(topic, clients.address)
    if not 0 <= partition < count:
        message = f"topic {topic} has no partition {partition}: it has {count}"
        raise UnknownTopicError(message)


def unknown(topic: str, address: str) -> UnknownTopicError:
    """There is no such topic."""
    message = f"there is no topic {topic}"
    return UnknownTopicError(message, hint=f"Create it: {command(f'topics create {topic}', address)}")


class AddedPartitions:
    """Those that topics got after a producer had asked for them, and that it refuses until it asks again."""

    def __init__(self, clients: Clients, producer: Producer) -> None:
        self._clients, self._producer = clients, producer
        self._learnt: set[tuple[str, int]] = set()

    def learn(self, topic: str, partition: int, error: KafkaException) -> None:
        """After an error of ``produce``, which can be called again then. The error is raised where that is no help."""
        place = topic, partition
        if error.args[0].code() != KafkaError._UNKNOWN_PARTITION or place in self._learnt:
            raise error
        check(self._clients, *place)
        deadline = time.monotonic() + self._clients.timeout
        while partition not in self._producer.list_topics(topic, self._clients.timeout).topics[topic].partitions:
            if time.monotonic() > deadline:
                raise error
            time.sleep(_PAUSE_SECONDS)
        self._learnt.add(place)
