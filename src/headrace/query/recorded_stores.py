"""A store from what its application noted with its last commit: the program is not needed, only the serdes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.batch.fingerprint import Fingerprint, StoreShape
from headrace.batch.progress import Progress
from headrace.config import StreamsConfig
from headrace.errors import ArgumentError, UnknownStoreError, UnsupportedError
from headrace.near_names import did_you_mean
from headrace.query.layout import READABLE, StoreLayout
from headrace.query.places import Place
from headrace.query.standby import StandbyWatch
from headrace.query.store_follower import StoreFollower
from headrace.query.tables import partitions_table
from headrace.state import stores

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.broker.port import Broker
    from headrace.serde import Serde

_Builder = Callable[[StoreShape, "Serde[Any]", "Serde[Any]"], Any]


def recorded_store_table(
    broker: Broker, application_id: str, name: str, key_serde: Serde[Any], value_serde: Serde[Any]
) -> pa.Table:
    """All entries of a store as they are committed now; see ``headrace.query.tables`` for the columns."""
    fingerprint = _fingerprint(broker, application_id)
    shape = _shape(fingerprint, name)
    builder = _BUILDERS[shape.format](shape, key_serde, value_serde)
    is_source = any(shape.changelog in group.sources for group in fingerprint.subtopologies)
    layout = StoreLayout(
        name, shape.format, builder, False, shape.changelog, shape.partitions, shape.subtopology, is_source
    )
    with tempfile.TemporaryDirectory(prefix="headrace-") as directory:
        config = StreamsConfig({"application.id": application_id, "state.dir": directory})
        place = Place(Path(directory) / "replica")
        try:
            with closing(StoreFollower(layout, config, broker, place, StandbyWatch())) as follower:
                follower.catch_up()
                return partitions_table(layout, follower.stores)
        finally:
            place.release()


def _fingerprint(broker: Broker, application_id: str) -> Fingerprint:
    last = broker.last_committed(application_id)
    note = None if last is None else Progress(last).fingerprint
    if note is None:
        message = f"the application {application_id!r} has committed nothing"
        known = broker.applications()
        detail = f"The applications at {broker.address} are: {', '.join(known) or 'none'}."
        raise ArgumentError(message, detail=detail, hint=did_you_mean(application_id, known))
    return Fingerprint.from_json(note)


def _shape(fingerprint: Fingerprint, name: str) -> StoreShape:
    known = {store.name: store for store in fingerprint.stores}
    if name not in known:
        message = f"the application {fingerprint.application} has no store called {name!r}"
        detail = f"Its stores are: {', '.join(known) or 'none'}."
        raise UnknownStoreError(message, detail=detail, hint=did_you_mean(name, known))
    shape = known[name]
    if shape.subtopology is None:
        message = f"{name!r} is a global store: it holds what its topic holds"
        raise UnsupportedError(message, hint=f"Read the topic: topics.to_arrow({shape.changelog!r}).")
    if shape.format not in _BUILDERS or shape.format.removesuffix("_with_headers") not in READABLE:
        message = f"the store {name!r} cannot be read: an operator keeps it for itself ({shape.format})"
        raise UnsupportedError(message)
    if shape.changelog is None:
        message = f"the store {name!r} has no changelog: it cannot be read outside of a running task"
        raise UnsupportedError(message, hint="Leave logging on for stores that are to be read from outside.")
    return shape


def _window(shape: StoreShape) -> tuple[str, int, int, bool]:
    return shape.name, shape.retention_ms or 0, shape.window_size_ms or 0, shape.retain_duplicates


_BUILDERS: Mapping[str, _Builder] = {
    "kv": lambda shape, *serdes: stores.key_value(stores.persistent(shape.name), *serdes),
    "timestamped_kv": lambda shape, *serdes: stores.timestamped_key_value(
        stores.persistent_timestamped(shape.name), *serdes
    ),
    "timestamped_kv_with_headers": lambda shape, *serdes: stores.timestamped_key_value(
        stores.persistent_timestamped_with_headers(shape.name), *serdes
    ),
    "versioned": lambda shape, *serdes: stores.versioned_key_value(
        stores.versioned(shape.name, shape.history_ms or 0), *serdes
    ),
    "window": lambda shape, *serdes: stores.window(stores.persistent_window(*_window(shape)), *serdes),
    "timestamped_window": lambda shape, *serdes: stores.timestamped_window(
        stores.persistent_timestamped_window(*_window(shape)), *serdes
    ),
    "timestamped_window_with_headers": lambda shape, *serdes: stores.timestamped_window(
        stores.persistent_timestamped_window_with_headers(*_window(shape)), *serdes
    ),
    "session": lambda shape, *serdes: stores.session(
        stores.persistent_session(shape.name, shape.retention_ms or 0), *serdes
    ),
    "session_with_headers": lambda shape, *serdes: stores.session(
        stores.persistent_session_with_headers(shape.name, shape.retention_ms or 0), *serdes
    ),
}
"""What builds a store of the same shape, by its format."""
