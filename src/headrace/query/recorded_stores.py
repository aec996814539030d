"""A store from what its application noted with its last commit: the program is not needed, only the serdes."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.application.fingerprint import Fingerprint, StoreShape
from headrace.application.progress import Progress
from headrace.config import StreamsConfig
from headrace.errors import (
    ArgumentError,
    SerializationError,
    UnknownStoreError,
    UnreadableStateError,
    UnsupportedError,
)
from headrace.near_names import did_you_mean
from headrace.query.layout import StoreLayout, check_readable
from headrace.query.replica_files import ReplicaDirectory
from headrace.query.store_follower import StoreFollower
from headrace.query.tables import partitions_table
from headrace.state import stores
from headrace.state.builders import TypedStoreBuilder
from headrace.state.kinds import VERSIONED, StoreKind
from headrace.state.suppliers import RocksDBKeyValueSupplier, RocksDBSessionSupplier, RocksDBWindowSupplier
from headrace.task.failures import headline

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.broker.port import Broker
    from headrace.serde import Serde


def recorded_store_table(
    broker: Broker, application_id: str, name: str, key_serde: Serde[Any], value_serde: Serde[Any]
) -> pa.Table:
    """All entries of a store as they are committed now; see ``headrace.query.tables`` for the columns."""
    fingerprint = _fingerprint(broker, application_id)
    shape = _shape(fingerprint, name)
    builder = _builder(shape, key_serde, value_serde)
    is_source = any(shape.changelog in group.sources for group in fingerprint.subtopologies)
    layout = StoreLayout(
        name,
        StoreKind.parse(shape.format),
        builder,
        False,
        shape.changelog,
        shape.partitions,
        shape.subtopology,
        is_source,
    )
    with tempfile.TemporaryDirectory(prefix="headrace-") as directory:
        config = StreamsConfig({"application.id": application_id, "state.dir": directory})
        place = ReplicaDirectory(Path(directory) / "replica")
        try:
            with closing(StoreFollower(layout, config, broker, place, [])) as follower:
                follower.catch_up()
                return partitions_table(layout, follower.stores)
        except SerializationError as error:
            raise _unreadable(name, application_id, error) from error
        finally:
            place.release()


def _unreadable(name: str, application_id: str, error: SerializationError) -> SerializationError:
    # Stores say so where a value is unreadable. They hint at a reset, which would mend nothing here.
    is_value = isinstance(error, UnreadableStateError)
    part, cause = ("value", error.__cause__ or error) if is_value else ("key", error)
    message = f"a {part} of the store {name!r} cannot be read: {headline(cause)}"
    hint = f"Give {part}_serde= the serde that the application {application_id} writes it with."
    return SerializationError(message, detail=error.detail, hint=hint)


def _fingerprint(broker: Broker, application_id: str) -> Fingerprint:
    last = broker.last_decided(application_id)
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
    check_readable(name, StoreKind.parse(shape.format), has_topic=shape.changelog is not None)
    return shape


def _builder(shape: StoreShape, *serdes: Any) -> Any:
    """What builds a store of the same shape."""
    name, retention_ms, kind = shape.name, shape.retention_ms or 0, StoreKind.parse(shape.format)
    if kind == VERSIONED:
        return stores.versioned_key_value(stores.versioned(name, shape.history_ms or 0), *serdes)
    supplier: Any = RocksDBKeyValueSupplier(name, kind.timestamped, kind.headers)
    if kind.shape == "window":
        times = retention_ms, shape.window_size_ms or 0, shape.retain_duplicates
        supplier = RocksDBWindowSupplier(name, *times, kind.timestamped, kind.headers)
    elif kind.shape == "session":
        supplier = RocksDBSessionSupplier(name, retention_ms, kind.headers)
    return TypedStoreBuilder(kind, supplier, *serdes)
