"""What is looked at before an application starts: the likeliest reasons why it cannot run, each with its remedy.

``Streams.start``, ``headrace run`` and ``headrace doctor`` share these checks. Together they take well below a second.
"""

from __future__ import annotations

import difflib
import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.application.state_place import placed
from headrace.broker import BROKER_VARIABLE, DEFAULT_BROKER, BrokerConfig, embedded_directory, open_broker, servers
from headrace.broker.config import broker_settings
from headrace.commands import command
from headrace.errors import (
    BrokerError,
    HeadraceError,
    IllegalStateError,
    MissingSourceTopicError,
    SetupError,
    StateDirectoryError,
    user_line,
)
from headrace.settings import ON_KAFKA, WITHOUT_EFFECT
from headrace.state.shared_memory import SHARED_MEMORY

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.topology import Topology, TopologyPlan

log = logging.getLogger(__name__)

LEAST_DISK = 64 << 20
LEAST_SHARED_MEMORY = 16 << 20
_ANSWER_SECONDS = 2.0

_loading: ContextVar[str | None] = ContextVar("loading", default=None)


@dataclass(frozen=True)
class Start:
    """What is about to be started."""

    config: StreamsConfig
    address: str
    """Of the broker."""
    topology: Topology | None = None
    """None where only the machine is looked at."""
    session: Any = None
    """The SparkSession that is there already."""

    @property
    def state_dir(self) -> Path:
        return placed(self.config, self.address).state_dir


def broker_address(config: StreamsConfig) -> str:
    given = config.originals.get("bootstrap.servers", DEFAULT_BROKER)
    return given if isinstance(given, str) else ",".join(given)


def broker_config(config: StreamsConfig) -> BrokerConfig:
    """Where the broker is, and the settings of its clients."""
    settings = broker_settings(config.originals)
    # As in Kafka Streams: who may process a record twice also reads what may yet be given up, unless told otherwise.
    if config.is_exactly_once:
        settings["main.consumer.isolation.level"] = "read_committed"
    else:
        settings.setdefault("consumer.isolation.level", "read_uncommitted")
    return BrokerConfig(broker_address(config), settings)


def check(start: Start, *more: Check) -> None:
    """Raise the first thing that is in the way."""
    for each in (*CHECKS, *more):
        error = each(start)
        if error is not None:
            raise error


@contextmanager
def loading(program: str) -> Iterator[None]:
    """A program is run inside the block to find its topology: it must not start the application itself."""
    token = _loading.set(program)
    try:
        yield
    finally:
        _loading.reset(token)


def started_by_its_file(start: Start) -> HeadraceError | None:
    """``headrace run`` starts what a file defines; a file that does so too would never come to its end."""
    program = _loading.get()
    if program is None:
        return None
    message = f"{program} starts its application itself"
    hint = f'Run it with python {program}; or move start() below if __name__ == "__main__", and headrace run starts it.'
    return IllegalStateError(message, hint=hint, at=user_line())


def state_directory(start: Start) -> HeadraceError | None:
    """Local state cannot be written."""
    reason = _unwritable(start.state_dir)
    if reason is None:
        return None
    message = f"state.dir cannot be written: {start.state_dir}"
    hint = "Give yourself the right to write there, or set state.dir to another directory."
    return StateDirectoryError(message, detail=reason, hint=hint)


def data_directory(start: Start) -> HeadraceError | None:
    """The embedded broker cannot be written."""
    directory = embedded_directory(start.address)
    reason = None if directory is None else _unwritable(directory)
    if reason is None:
        return None
    message = f"the directory of bootstrap.servers cannot be written: {directory}"
    hint = "Give yourself the right to write there, or use another: bootstrap.servers, or --broker embedded:DIRECTORY."
    return BrokerError(message, detail=reason, hint=hint)


def disk_space(start: Start) -> HeadraceError | None:
    """A disk is as good as full."""
    places = {"state.dir": start.state_dir, "temporary files (TMPDIR)": Path(tempfile.gettempdir())}
    directory = embedded_directory(start.address)
    if directory is not None:
        places["bootstrap.servers"] = directory
    for name, place in places.items():
        free = shutil.disk_usage(nearest(place)).free
        if free < LEAST_DISK:
            message = f"too little disk space for {name}: {_mib(free)} free in {place}"
            return SetupError(message, hint=f"Free at least {_mib(LEAST_DISK)} there, or use another directory.")
    return None


def shared_memory(start: Start) -> HeadraceError | None:
    """Stores in memory lie in shared memory between batches, and there is hardly any."""
    if not os.access(SHARED_MEMORY, os.W_OK) or start.topology is None:
        return None
    free = shutil.disk_usage(SHARED_MEMORY).free
    if free >= LEAST_SHARED_MEMORY or not (names := _stores_in_memory(start.topology.configured(start.config))):
        return None
    message = f"too little shared memory for the store {names[0]}: {_mib(free)} free in {SHARED_MEMORY}"
    hint = "Raise it (in a container: docker run --shm-size=1g), or use a persistent store."
    return SetupError(message, hint=hint)


def place_of_topics(start: Start) -> HeadraceError | None:
    """The topics are there, but with another broker."""
    directory = embedded_directory(start.address)
    if start.topology is None or directory is None:
        return None
    topics = _source_topics(start.topology)
    missing = sorted(topics - _topics_at(start.address))
    if not missing:
        return None
    others = (os.environ.get(BROKER_VARIABLE), DEFAULT_BROKER, *_similar_brokers(directory))
    other = next((each for each in others if each and topics <= _topics_at(each)), None)
    if other is None:
        return None
    message = f"source topics are missing: {', '.join(missing)}"
    there = f"embedded:{Path(other.removeprefix('embedded:')).expanduser().absolute()}"
    detail = f"bootstrap.servers is {start.address}; they are in {there}."
    hint = f"Set bootstrap.servers to {there}, or run with --broker {there}."
    return MissingSourceTopicError(message, detail=detail, hint=hint)


def new_directory(start: Start) -> HeadraceError | None:
    """There is no broker yet, so that the topics cannot be there: it may be a misspelt one, and is not made."""
    directory = embedded_directory(start.address)
    if start.topology is None or directory is None or directory.exists():
        return None
    topics = sorted(_source_topics(start.topology))
    if not topics:
        return None
    message = f"source topics are missing: {', '.join(topics)}"
    detail = f"bootstrap.servers is {start.address}, and there is no directory {directory.absolute()}."
    create = command(f"topics create {topics[0]}", start.address)
    hint = f"Correct bootstrap.servers; or create the topics first, which makes the directory: {create}"
    return MissingSourceTopicError(message, detail=detail, hint=hint)


def silent_brokers(start: Start) -> HeadraceError | None:
    """Kafka does not answer: its clients wait for it much longer than a person who has mistyped an address."""
    there = servers(start.address)
    if there and not any(map(_answers, there)):
        log.warning("Kafka at %s does not answer yet: waiting for it", start.address)
    return None


def _answers(server: tuple[str, int]) -> bool:
    try:
        socket.create_connection(server, timeout=_ANSWER_SECONDS).close()
    except OSError:
        return False
    return True


Check: TypeAlias = Callable[[Start], "HeadraceError | None"]

CHECKS: tuple[Check, ...] = (
    started_by_its_file,
    state_directory,
    data_directory,
    disk_space,
    shared_memory,
    silent_brokers,
    place_of_topics,
)
"""Whatever runs the application."""


def nearest(directory: Path) -> Path:
    """The directory, or the one that is there and that it would be made in."""
    whole = directory.absolute()
    return next(path for path in (whole, *whole.parents) if path.exists())


def _unwritable(directory: Path) -> str | None:
    there = nearest(directory)
    try:
        with tempfile.TemporaryFile(dir=there):
            return None
    except OSError as error:
        return f"{there}: {error.strerror}"


def _stores_in_memory(topology: TopologyPlan) -> list[str]:
    return [name for name, builder in topology.graph.stores.items() if not getattr(builder.build(), "persistent", True)]


def _source_topics(topology: Topology) -> set[str]:
    named = [topic for source in topology.graph.sources() for topic in source.topics]
    return {topic for topic in named if topic not in topology.graph.internal_topics}


def _similar_brokers(directory: Path) -> list[str]:
    """Embedded brokers beside ``directory`` whose names are nearly the same."""
    beside = directory.absolute().parent
    try:
        known = [each.parent.name for each in beside.glob("*/catalog.db") if each.parent != directory.absolute()]
    except OSError:
        return []
    near = difflib.get_close_matches(directory.name, known)
    return [f"embedded:{beside / name}" for name in near]


def _topics_at(address: str) -> set[str]:
    directory = embedded_directory(address)
    if directory is None or not (directory / "catalog.db").exists():
        return set()
    with closing(open_broker(address)) as broker:
        return set(broker.topics())


def _mib(count: int) -> str:
    return f"{count / (1 << 20):,.0f} MiB"


def warn_of_idle_settings(config: StreamsConfig) -> None:
    """One line for all settings that were given and that nobody reads."""
    is_embedded = embedded_directory(broker_address(config)) is not None
    known = {**WITHOUT_EFFECT, **ON_KAFKA} if is_embedded else WITHOUT_EFFECT
    idle = [f"{name} ({known[name]})" for name in config.originals if name in known]
    if idle:
        log.warning("these settings have no effect here: %s", ", ".join(idle))
