"""Topics of a cluster: made, altered, described, removed. A call returns when those that follow see its effect."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (
    AclOperation,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from headrace.broker.kafka import offsets
from headrace.broker.kafka.client_settings import given
from headrace.broker.kafka.clients import Clients
from headrace.broker.kafka.failures import UNKNOWN_TOPIC
from headrace.broker.kafka.metadata import counts, unknown
from headrace.broker.port import PartitionDescription, TopicDescription
from headrace.broker.topic_config import check_partitions
from headrace.errors import ArgumentError, ConfigError, UnknownTopicError
from headrace.names import check_name

_PAUSE = 0.02


def create(clients: Clients, name: str, partitions: int, config: Mapping[str, object] | None) -> None:
    """Make a topic, with as many copies as ``replication.factor`` says or else the cluster."""
    check_name(name, "topic")
    copies = given(clients.config, "replication.factor", "")
    new = NewTopic(
        name,
        num_partitions=check_partitions(name, partitions),
        replication_factor=-1 if copies is None else int(str(copies)),
        config=_texts(config or {}),
    )
    what = f"create the topic {name}"
    clients.change(
        what,
        lambda seconds: clients.answer(clients.admin().create_topics([new], request_timeout=seconds)[name], seconds),
        done={KafkaError.TOPIC_ALREADY_EXISTS},
    )
    _wait(clients, what, lambda: counts(clients).get(name) == partitions)
    clients.note_made(name)


def check_allowed(clients: Clients, name: str, *operations: AclOperation) -> None:
    """Refuse a topic with which we may not do that: in a transaction it would be told late, and of no topic."""
    described = _described(clients, name)
    # None where the cluster does not tell.
    allowed = described.authorized_operations
    missing = [] if allowed is None else [each.name for each in operations if each not in allowed]
    if missing:
        what = f"{' and '.join(missing).lower()} the topic {name}"
        raise clients.denied(what, detail=f"Allowed: {', '.join(sorted(each.name.lower() for each in allowed))}.")


def delete(clients: Clients, name: str) -> None:
    """Remove a topic; the cluster forgets what groups committed for it."""
    what = f"delete the topic {name}"
    clients.note_deleted(name)
    with _known(name, clients.address):
        clients.change(
            what,
            lambda seconds: clients.answer(
                clients.admin().delete_topics([name], request_timeout=seconds)[name], seconds
            ),
            done=UNKNOWN_TOPIC,
        )
    _wait(clients, what, lambda: name not in counts(clients))


def alter(clients: Clients, name: str, partitions: int | None, config: Mapping[str, object | None] | None) -> None:
    """Add partitions, change settings; None brings a setting back to its default."""
    before = counts(clients).get(name)
    if before is None:
        raise unknown(name, clients.address)
    if partitions is not None and partitions < before:
        message = f"topic {name} has {before} partitions, they cannot become {partitions}"
        raise ArgumentError(message, hint="Partitions can only be added; make another topic.")
    if config:
        _alter_settings(clients, name, config)
    if partitions is not None and partitions > before:
        what = f"add partitions to the topic {name}"
        new = [NewPartitions(name, check_partitions(name, partitions))]
        clients.change(
            what,
            lambda seconds: clients.answer(
                clients.admin().create_partitions(new, request_timeout=seconds)[name], seconds
            ),
            done={KafkaError.INVALID_PARTITIONS},
        )
        _wait(clients, what, lambda: counts(clients).get(name) == partitions)


def _alter_settings(clients: Clients, name: str, config: Mapping[str, object | None]) -> None:
    removed = {each for each, value in config.items() if value is None}
    texts = _texts({each: value for each, value in config.items() if value is not None})
    entries = [
        ConfigEntry(each, texts.get(each), incremental_operation=AlterConfigOpType.DELETE)
        if each in removed
        else ConfigEntry(each, texts[each], incremental_operation=AlterConfigOpType.SET)
        for each in config
    ]
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
    clients.change(
        f"alter the settings of the topic {name}",
        lambda seconds: clients.answer(
            clients.admin().incremental_alter_configs([resource], request_timeout=seconds)[resource], seconds
        ),
    )


def describe(clients: Clients, name: str) -> TopicDescription:
    """Settings and offsets. How many bytes there are no client is told; records are counted by offsets."""
    check_name(name, "topic")
    found = _described(clients, name)
    places = [(name, each.id) for each in found.partitions]
    starts, ends = offsets.starts(clients, places), offsets.next_offsets(clients, places)
    partitions = tuple(
        PartitionDescription(
            number, starts[place], ends[place], records=ends[place] - starts[place], size=None, segments=None
        )
        for number, place in enumerate(sorted(places))
    )
    return TopicDescription(name, _settings(clients, name), partitions, str(found.topic_id))


def ids(clients: Clients, names: Iterable[str]) -> dict[str, str]:
    wanted = list(names)
    what = f"describe the topics {', '.join(wanted)}"

    def found(seconds: float) -> Iterator[tuple[str, str]]:
        asked = clients.admin().describe_topics(TopicCollection(wanted), request_timeout=seconds)
        for name, future in asked.items():
            try:
                yield name, str(clients.answer(future, seconds).topic_id)
            except KafkaException as error:
                if error.args[0].code() not in UNKNOWN_TOPIC or name in clients.spreading:
                    raise

    return clients.look(what, lambda seconds: dict(found(seconds))) if wanted else {}


def _described(clients: Clients, name: str) -> Any:
    asked = TopicCollection([name])

    def once(seconds: float) -> Any:
        ask = clients.admin().describe_topics
        return clients.answer(ask(asked, include_authorized_operations=True, request_timeout=seconds)[name], seconds)

    with _known(name, clients.address):
        return clients.look(f"describe the topic {name}", once)


def _settings(clients: Clients, name: str) -> dict[str, str]:
    resource = ConfigResource(ResourceType.TOPIC, name)
    found: Mapping[str, Any] = clients.look(
        f"describe the settings of the topic {name}",
        lambda seconds: clients.answer(
            clients.admin().describe_configs([resource], request_timeout=seconds)[resource], seconds
        ),
    )
    return {each: entry.value for each, entry in sorted(found.items()) if entry.value is not None}


@contextmanager
def _known(name: str, address: str) -> Iterator[None]:
    """Say of a topic that is not there how to make it."""
    try:
        yield
    except UnknownTopicError as error:
        raise unknown(name, address) from error


def _texts(config: Mapping[str, object]) -> dict[str, str]:
    """The settings as Kafka takes them; ours, which it does not know, say nothing there."""
    for name in config:
        if name.startswith("headrace."):
            message = f"the topic setting {name} is of the embedded broker"
            raise ConfigError(message, hint="Leave it out: Kafka's topics have Kafka's settings only.")
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in config.items()}


def _wait(clients: Clients, what: str, is_there: Callable[[], bool]) -> None:
    """Until the metadata that clients are told shows it: the controller answers before all brokers know."""
    deadline = time.monotonic() + clients.timeout
    while not is_there():
        if time.monotonic() > deadline:
            raise clients.silent(what + " (it was accepted, but is not seen)")
        time.sleep(_PAUSE)
