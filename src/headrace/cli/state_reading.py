"""What ``headrace state`` reads: entries of a store's replicas, by key, range or prefix, as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from headrace.broker.port import Broker
from headrace.cli.exits import NotFoundError, UsageError
from headrace.cli.program_config import ProgramApplication, load_application
from headrace.cli.session import Session
from headrace.cli.state_keys import key_of
from headrace.errors import UnknownTopicError
from headrace.query.layout import StoreLayout
from headrace.query.replicas import Replicas
from headrace.query.rows import StoreRow, row_of
from headrace.state.contracts import StoreIterator
from headrace.windows import MAX_TIMESTAMP, Windowed


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which keys to read, as they stand on the command line."""

    first: str | None = None
    last: str | None = None
    prefix: str | None = None
    partition: int | None = None


@contextmanager
def replicas_of(session: Session, program: str, given: Iterable[str]) -> Iterator[tuple[Replicas, Broker]]:
    """The replicas of the application in a program, open until the end of the block."""
    application: ProgramApplication = load_application(session, program, given)
    with (
        application.broker() as broker,
        Replicas.of(application.topology, application.config, broker) as replicas,
    ):
        yield replicas, broker


def summaries(replicas: Replicas, broker: Broker) -> list[dict[str, Any]]:
    """All stores of an application: kind, topic, partitions, entries (where they can be read) and the topic's bytes."""
    return [_summary(replicas, broker, layout) for layout in replicas.layouts.values()]


def found_by_key(replicas: Replicas, broker: Broker, name: str, text: str, window: int | None) -> list[StoreRow]:
    """The entries of a key: one, or those of its windows or sessions, or of the window that starts at ``window``."""
    layout = replicas.layout(name)
    is_windowed = _is_windowed(layout)
    if window is not None and not is_windowed:
        message = f"the store {name!r} has no windows"
        raise UsageError(message, hint="Leave out --window.")
    key = _key(replicas, name, text)
    rows = [
        row_of(layout, found, held, number)
        for number, store in replicas.partitions(name).items()
        for found, held in _entries_of_key(layout, store, key)
    ]
    rows = [row for row in rows if window is None or row["window_start"] == window]
    if not rows:
        where = "" if window is None else f" with a window that starts at {window}"
        message = f"there is no key {text!r}{where} in the store {name!r}"
        raise NotFoundError(message, hint=_never_committed(replicas.application.id, layout, broker))
    return rows


def _never_committed(application: str, layout: StoreLayout, broker: Broker) -> str | None:
    if layout.is_global or broker.committed(application):
        return None
    return f"The application {application} has committed nothing yet: start it, or wait for its first batch."


def scanned(replicas: Replicas, name: str, bounds: Bounds) -> Iterator[StoreRow]:
    """The entries of a store within bounds, partition after partition."""
    layout, partitions = replicas.layout(name), replicas.partitions(name)
    if bounds.partition is not None and bounds.partition not in partitions:
        message = f"the store {name!r} has no partition {bounds.partition}"
        raise NotFoundError(message, detail=f"Its partitions are 0 to {len(partitions) - 1}.")
    scan = _scan(replicas, layout, bounds)
    for number, store in partitions.items():
        if bounds.partition in (None, number):
            with scan(store) as entries:
                for key, held in entries:
                    yield row_of(layout, key, held, number)


def _summary(replicas: Replicas, broker: Broker, layout: StoreLayout) -> dict[str, Any]:
    can_be_read = layout.kind.is_readable and (layout.topic is not None or layout.is_global)
    return {
        "store": layout.name,
        "kind": str(layout.kind),
        "persistent": layout.persistent,
        "global": layout.is_global,
        "changelog": layout.topic,
        "partitions": layout.partitions,
        "entries": sum(1 for _ in replicas.rows(layout.name)) if can_be_read else None,
        "bytes": None if layout.topic is None else _size(broker, layout.topic),
    }


def _size(broker: Broker, topic: str) -> int | None:
    try:
        return broker.describe_topic(topic).size
    except UnknownTopicError:  # the application has not run yet
        return 0


def _entries_of_key(layout: StoreLayout, store: Any, key: Any) -> Iterator[tuple[Any, Any]]:
    if layout.kind.shape == "session":
        yield from store.fetch(key)
    elif _is_windowed(layout):
        for found, held in store.fetch_keys(key, key, 0, MAX_TIMESTAMP):
            assert isinstance(found, Windowed)
            if found.key == key:
                yield found, held
    else:
        held = store.get(key)
        if held is not None:
            yield key, held


def _scan(replicas: Replicas, layout: StoreLayout, bounds: Bounds) -> Callable[[Any], StoreIterator[Any, Any]]:
    name, shape = layout.name, layout.kind.shape
    if bounds.prefix is not None:
        if bounds.first is not None or bounds.last is not None:
            raise UsageError("--prefix goes with neither --from nor --to")
        if shape != "kv":
            message = f"a {str(layout.kind).replace('_', ' ')} store has no prefix scan"
            raise UsageError(message, hint="Use --from and --to.")
        prefix, serde = _key(replicas, name, bounds.prefix), replicas.key_serde(name)
        return lambda store: store.prefix_scan(prefix, serde)
    if bounds.first is None and bounds.last is None:
        return lambda store: store.entries()
    first = None if bounds.first is None else _key(replicas, name, bounds.first)
    last = None if bounds.last is None else _key(replicas, name, bounds.last)
    if shape == "versioned":
        raise UsageError("a versioned store has no range of keys", hint="Leave out --from and --to, or use get.")
    if shape == "session":
        return lambda store: store.fetch_keys(first, last)
    if _is_windowed(layout):
        return lambda store: store.fetch_keys(first, last, 0, MAX_TIMESTAMP)
    return lambda store: store.range(first, last)


def _key(replicas: Replicas, name: str, text: str) -> Any:
    return key_of(text, replicas.key_serde(name), replicas.layout(name).topic or name)


def _is_windowed(layout: StoreLayout) -> bool:
    return layout.kind.is_windowed
