"""Are the keys of a store where a repartition that was added will look for them?

Without a repartition a key is in the partition of the record that brought it, wherever its producer put that. With one
the hash of the key decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.application.compatibility import Change, Effect
from headrace.application.fingerprint import Fingerprint, StoreShape
from headrace.partitioning import default_partition

if TYPE_CHECKING:
    from headrace.broker.port import Log

_BEHIND_KEY = {"kv": 0, "versioned": 0, "window": 12, "session": 16}
"""How many bytes follow the key in a changelog, by the kind of the store."""


def placement_changes(broker: Log, old: Fingerprint, new: Fingerprint) -> Iterator[Change]:
    """Refuses a repartition before a store whose keys lie elsewhere: they would be counted anew."""
    before = {store.name: store for store in old.stores if store.is_repartitioned is False}
    for store in new.stores:
        if store.name in before and store.is_repartitioned and store.kind in _BEHIND_KEY and store.changelog:
            misplaced = _misplaced(broker, store, store.changelog)
            if misplaced is not None:
                text = f"a repartition comes before it now, and would look for {misplaced!r} elsewhere"
                hint = "Leave out the repartition, or give the store another name: it starts empty then"
                yield Change(Effect.REFUSE, store.name, text, hint)


def _misplaced(broker: Log, store: StoreShape, changelog: str) -> bytes | None:
    """A key that is not in the partition of its hash; None where all are."""
    for partition in range(store.partitions):
        found: dict[bytes, bytes] = {}
        start = broker.start_offsets([(changelog, partition)])[changelog, partition]
        for records in broker.read(changelog, partition, start):
            for _, _, _, _, entry, value, _ in records:
                key = (entry or b"")[: len(entry or b"") - _BEHIND_KEY[store.kind]]
                if entry is None or default_partition(key, store.partitions) == partition:
                    continue
                if value is None:
                    found.pop(entry, None)
                else:
                    found[entry] = key
        if found:
            return next(iter(found.values()))
    return None
