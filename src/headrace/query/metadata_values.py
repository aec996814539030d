"""Who runs what, and how far it has come: the values of Kafka Streams' metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from headrace.errors import ConfigError

_ENDPOINT = re.compile(r"(?:\w+://)?\[?([0-9a-zA-Z\-%._:]*?)\]?:([0-9]{1,5})")


class HostInfo(NamedTuple):
    """Where an instance answers queries: what its ``application.server`` says.

    >>> HostInfo.of("host-1:8080")
    HostInfo(host='host-1', port=8080)
    """

    host: str
    port: int

    @classmethod
    def of(cls, endpoint: str) -> HostInfo:
        """The host and port of ``host:port``; ``UNAVAILABLE`` for an empty text, a ConfigError for any other."""
        if not endpoint.strip():
            return UNAVAILABLE
        found = _ENDPOINT.fullmatch(endpoint.strip())
        if found is None:
            message = f"application.server must be host:port, found {endpoint!r}"
            raise ConfigError(message, hint="For example localhost:8080.")
        return cls(found[1], int(found[2]))


UNAVAILABLE = HostInfo("unavailable", -1)
"""The host of an instance that did not say where it is."""


@dataclass(frozen=True, slots=True)
class StreamsMetadata:
    """One instance of an application: its stores, and the partitions it reads."""

    host_info: HostInfo
    state_store_names: frozenset[str]
    topic_partitions: frozenset[tuple[str, int]]
    standby_state_store_names: frozenset[str] = frozenset()
    standby_topic_partitions: frozenset[tuple[str, int]] = frozenset()


@dataclass(frozen=True, slots=True)
class KeyQueryMetadata:
    """Which instance has a key. ``partition`` is -1 for a global store, which every instance has all of."""

    active_host: HostInfo
    standby_hosts: frozenset[HostInfo]
    partition: int


@dataclass(frozen=True, slots=True)
class LagInfo:
    """How far the copy of a store that answers queries is behind its changelog.

    It is brought up to date before each answer; a store that was never asked has no copy yet, and is at 0.
    """

    current_offset_position: int
    end_offset_position: int

    @property
    def offset_lag(self) -> int:
        return max(0, self.end_offset_position - self.current_offset_position)


@dataclass(frozen=True, slots=True)
class TaskMetadata:
    """A task: what it reads, the next offsets to be read, and where the partitions end."""

    task_id: str
    topic_partitions: frozenset[tuple[str, int]]
    committed_offsets: Mapping[tuple[str, int], int]
    end_offsets: Mapping[tuple[str, int], int]


@dataclass(frozen=True, slots=True)
class ThreadMetadata:
    """A stream thread and its tasks."""

    thread_name: str
    thread_state: str
    active_tasks: tuple[TaskMetadata, ...]
    standby_tasks: tuple[TaskMetadata, ...] = ()


@dataclass(frozen=True, slots=True)
class ClientInstanceIds:
    """What tells the clients of an application apart: one for the whole, one for each thread."""

    admin_instance_id: UUID
    consumer_instance_ids: Mapping[str, UUID]
    producer_instance_ids: Mapping[str, UUID]
