"""What becomes of an application's state when its topology has changed.

State belongs to a store's name. Directories carry the number of the sub-topology, but a number alone says nothing: a
store that now lives in another one moves there (``Upgrade.moves``). Where the bytes of a local copy no longer fit but
those of the changelog do, the copy is thrown away and filled again (``Upgrade.rebuilt``). Everything else that would
lose or mix up state is refused, with what can be done.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from headrace.batch.fingerprint import Fingerprint, StoreShape
from headrace.batch.task_id import TaskId
from headrace.errors import UpgradeError

_GENERATED = re.compile(r"\d{10}")
_NEW_NAME = "Give the store another name: it starts empty then, and the old one is left as it is"


class Effect(Enum):
    """What a change does to state."""

    NOTE = "note"
    MOVE = "move"
    REBUILD = "rebuild"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two versions of a topology."""

    effect: Effect
    subject: str
    """The name of the store or topic."""
    text: str
    hint: str | None = None

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}"


@dataclass(frozen=True, slots=True)
class StoreMove:
    """A store that lives in another sub-topology now; each of its partitions keeps its content."""

    store: str
    old: int
    new: int
    partitions: int

    def directories(self) -> list[tuple[str, str]]:
        """Where each partition was, and where it is now, below the application's directory.

        Stores have different names, so moves never get into each other's way, whatever their order.
        """
        return [
            (f"{TaskId(self.old, partition)}/{self.store}", f"{TaskId(self.new, partition)}/{self.store}")
            for partition in range(self.partitions)
        ]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What to do before the new topology runs on the state of the old one."""

    changes: tuple[Change, ...]
    moves: tuple[StoreMove, ...] = ()

    @property
    def rebuilt(self) -> tuple[str, ...]:
        """The stores whose local copies are to be thrown away."""
        return tuple(change.subject for change in self.changes if change.effect is Effect.REBUILD)

    @property
    def refusals(self) -> tuple[Change, ...]:
        """The changes that state cannot follow."""
        return tuple(change for change in self.changes if change.effect is Effect.REFUSE)

    def check(self, application: str) -> None:
        """Raise an UpgradeError that names everything that stands in the way."""
        refused = self.refusals
        if not refused:
            return
        hints = dict.fromkeys(change.hint for change in refused if change.hint)
        names = ", ".join(dict.fromkeys(change.subject for change in refused))
        hint = ". ".join((*hints, f"Or start over and lose all state: headrace reset app.py ({application})."))
        message = f"the state of {application!r} cannot follow the changes of the topology: {names}"
        raise UpgradeError(message, detail="; ".join(map(str, refused)), hint=hint)


def compare(old: Fingerprint, new: Fingerprint) -> Upgrade:
    """What the step from ``old`` to ``new`` does."""
    before, now = _by_name(old.stores), _by_name(new.stores)
    kept = [(before[name], now[name]) for name in before if name in now]
    changes = [
        *_renamed(before, now),
        *(change for pair in kept for change in _store_changes(*pair)),
        *_repartition_changes(old, new),
        *_source_changes(old, new),
    ]
    moves = tuple(
        StoreMove(was.name, was.subtopology, now_.subtopology, was.partitions)
        for was, now_ in kept
        if was.subtopology is not None and now_.subtopology is not None and was.subtopology != now_.subtopology
    )
    return Upgrade(tuple(changes), moves)


def _by_name(stores: Iterable[StoreShape]) -> dict[str, StoreShape]:
    return {store.name: store for store in stores}


def _renamed(before: dict[str, StoreShape], now: dict[str, StoreShape]) -> Iterator[Change]:
    """Stores that are gone and stores that are new; a generated name that moved on is both, and means to be neither."""
    gone = [store for name, store in before.items() if name not in now]
    added = [store for name, store in now.items() if name not in before]
    for store in gone:
        successor = next((each for each in added if _is_renumbered(store, each)), None)
        if successor is None:
            text = "the store is gone from the topology; its files and its changelog are kept"
            yield Change(Effect.NOTE, store.name, text)
            continue
        added.remove(successor)
        yield Change(
            Effect.REFUSE,
            store.name,
            f"the store has no name of its own, and its generated name is {successor.name} now; "
            "its content would be left behind",
            f"Name the store in the program: {store.name!r} to go on with its content, any other name to start empty",
        )
    for store in added:
        yield Change(Effect.NOTE, store.name, "the store is new and starts empty")


def _is_renumbered(old: StoreShape, new: StoreShape) -> bool:
    is_generated = _GENERATED.search(old.name) is not None
    return is_generated and _GENERATED.sub("", old.name) == _GENERATED.sub("", new.name) and old.kind == new.kind


def _store_changes(old: StoreShape, new: StoreShape) -> Iterator[Change]:
    refused = list(_refusals(old, new))
    if refused:
        yield from refused
        return
    if old.subtopology != new.subtopology:
        text = f"the store moves from sub-topology {old.subtopology} to {new.subtopology}, with its content"
        yield Change(Effect.MOVE, new.name, text)
    differences = list(_layout_differences(old, new))
    if differences and new.changelog is None:
        text = f"{', '.join(differences)}; it has no changelog to be filled from again"
        yield Change(Effect.REFUSE, new.name, text, _NEW_NAME)
    elif differences:
        text = f"{', '.join(differences)}; local copies are filled again from {new.changelog}"
        yield Change(Effect.REBUILD, new.name, text)


def _refusals(old: StoreShape, new: StoreShape) -> Iterator[Change]:
    """What neither the local copy nor the changelog can follow."""
    if (old.subtopology is None) != (new.subtopology is None):
        ways = ["a store of tasks" if store.subtopology is not None else "a global store" for store in (old, new)]
        yield Change(Effect.REFUSE, new.name, f"it was {ways[0]} and is {ways[1]} now", _NEW_NAME)
        return
    if old.kind != new.kind:
        yield Change(Effect.REFUSE, new.name, f"it was a {old.kind} store and is a {new.kind} store now", _NEW_NAME)
    if new.subtopology is None:
        return  # A global store is read from its topic again, whatever that is.
    if old.partitions != new.partitions:
        text = f"it had {old.partitions} partitions and would have {new.partitions}: keys would be looked for elsewhere"
        hint = "Bring the source topics back to their number of partitions, or copy them into new ones"
        yield Change(Effect.REFUSE, new.name, text, hint)
    if old.changelog != new.changelog:
        text = f"its changelog was {old.changelog or 'switched off'} and is {new.changelog or 'switched off'} now"
        hint = f"Leave logging and topology.optimization as they were. {_NEW_NAME}"
        yield Change(Effect.REFUSE, new.name, text, hint)
    if old.window_size_ms != new.window_size_ms and old.kind == new.kind:
        text = f"its windows were {old.window_size_ms} ms long and are {new.window_size_ms} ms long now"
        yield Change(Effect.REFUSE, new.name, text, _NEW_NAME)
    if old.retain_duplicates != new.retain_duplicates and old.kind == new.kind:
        yield Change(Effect.REFUSE, new.name, "whether it keeps duplicates has changed", _NEW_NAME)


def _layout_differences(old: StoreShape, new: StoreShape) -> Iterator[str]:
    """What changes the bytes on disk, but not those of the changelog."""
    if old.format != new.format:
        yield f"its format was {old.format} and is {new.format} now"
    if old.persistent != new.persistent:
        yield f"it is kept {'on disk' if new.persistent else 'in memory'} now"
    if old.retention_ms != new.retention_ms:
        yield f"its retention was {old.retention_ms} ms and is {new.retention_ms} ms now"
    if old.history_ms != new.history_ms:
        yield f"its history was {old.history_ms} ms and is {new.history_ms} ms now"
    if old.layout != new.layout:
        yield "the order of its entries has changed"
    if new.subtopology is None and old.changelog != new.changelog:
        yield f"its topic was {old.changelog} and is {new.changelog} now"


def _repartition_changes(old: Fingerprint, new: Fingerprint) -> Iterator[Change]:
    for topic, count in old.repartitions.items():
        now = new.repartitions.get(topic, count)
        if now != count:
            text = f"the repartition topic had {count} partitions and would have {now}"
            yield Change(Effect.REFUSE, topic, text, f"Bring it back to {count} partitions, or give it another name=")


def _source_changes(old: Fingerprint, new: Fingerprint) -> Iterator[Change]:
    """Topics that are read no longer, or from now on."""
    before, now = _external_sources(old), _external_sources(new)
    for topic in sorted(before - now):
        yield Change(Effect.NOTE, topic, "the topic is no longer read; its committed offsets are kept")
    for topic in sorted(now - before):
        yield Change(Effect.NOTE, topic, "the topic is read from now on, starting where its reset policy says")


def _external_sources(fingerprint: Fingerprint) -> set[str]:
    read = {topic for group in fingerprint.subtopologies for topic in group.sources}
    return read - fingerprint.repartitions.keys()
