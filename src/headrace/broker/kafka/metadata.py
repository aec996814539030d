"""Which topics a cluster has. Asking never makes one."""

from __future__ import annotations

from confluent_kafka import KafkaException

from headrace.broker.kafka.clients import Clients
from headrace.errors import UnknownTopicError

INTERNAL = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"})
"""The cluster's own: nobody's business here."""


def counts(clients: Clients) -> dict[str, int]:
    """The names of all topics and their numbers of partitions."""
    try:
        found = clients.admin().list_topics(timeout=clients.timeout)
    except KafkaException as error:
        raise clients.failure(error, "list the topics") from error
    return {
        name: len(topic.partitions)
        for name, topic in sorted(found.topics.items())
        if name not in INTERNAL and topic.error is None
    }


def check(clients: Clients, topic: str, partition: int = 0) -> None:
    """UnknownTopicError where there is no such topic or partition."""
    count = counts(clients).get(topic)
    if count is None:
        raise unknown(topic)
    if not 0 <= partition < count:
        message = f"topic {topic} has no partition {partition}: it has {count}"
        raise UnknownTopicError(message)


def unknown(topic: str) -> UnknownTopicError:
    """There is no such topic."""
    message = f"there is no topic {topic}"
    return UnknownTopicError(message, hint=f"Create it: headrace topics create {topic}.")
