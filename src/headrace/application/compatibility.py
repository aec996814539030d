"""What becomes of an application's state when its topology has changed.

State belongs to a store's name. Directories carry the number of the sub-topology, but a number alone says nothing. A
local copy that no longer fits, or that another task has now, is filled again from the changelog (``Upgrade.anew``).
Everything that would lose or mix up state is refused, with what can be done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from headrace.application.existing_topics import OTHER_PARTITIONS
from headrace.application.fingerprint import GENERATED, Fingerprint, StoreShape
from headrace.commands import reset
from headrace.errors import UpgradeError

_NEW_NAME = "Give the store another name: it starts empty then, and the old one is left as it is"
_STAY = "Add new streams and tables behind it in the program, so that the store keeps the number of its sub-topology"


class Effect(Enum):
    """What a change does to state."""

    NOTE = "note"
    LEFT = "left"
    NEW = "new"
    RESTORE = "restore"
    REBUILD = "rebuild"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two versions of a topology."""

    effect: Effect
    subject: str
    """The name of the store or topic."""
    difference: str
    hint: str | None = None
    outcome: str | None = None
    """What becomes of the state."""

    @property
    def text(self) -> str:
        return self.difference if self.outcome is None else f"{self.difference}; {self.outcome}"

    def __str__(self) -> str:
        return f"{self.subject}: {self.text}"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What to do before the new topology runs on the state of the old one."""

    changes: tuple[Change, ...]

    @property
    def anew(self) -> frozenset[str]:
        """The stores of tasks whose local copies are not to be used: they moved, changed, or are new."""
        return self._with(Effect.RESTORE, Effect.REBUILD, Effect.NEW)

    @property
    def rebuilt(self) -> frozenset[str]:
        """The stores whose files have another layout now."""
        return self._with(Effect.REBUILD)

    @property
    def differences(self) -> dict[str, str]:
        """What is another about the stores that are rebuilt, without what becomes of them."""
        rebuilt = (change for change in self.changes if change.effect is Effect.REBUILD)
        return {change.subject: change.difference for change in rebuilt}

    def _with(self, *effects: Effect) -> frozenset[str]:
        return frozenset(change.subject for change in self.changes if change.effect in effects)

    @property
    def left(self) -> tuple[Change, ...]:
        """The stores whose work another one does now, from the beginning: nobody may have meant that."""
        return tuple(change for change in self.changes if change.effect is Effect.LEFT)

    @property
    def refusals(self) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.effect is Effect.REFUSE)

    def check(self, application: str, address: str) -> None:
        """Raise an UpgradeError whose headline is what was changed; its detail names all that stands in the way."""
        refused = self.refusals
        if not refused:
            return
        hints = dict.fromkeys(change.hint for change in refused if change.hint)
        hint = ". ".join((*hints, f"Or start over and lose all state: {reset(address)}"))
        first = refused[0]
        message = f"{first.subject} cannot go on with the state that {application!r} has: {first.text}"
        raise UpgradeError(message, detail="; ".join(map(str, refused)) if len(refused) > 1 else None, hint=hint)


def compare(old: Fingerprint, new: Fingerprint) -> Upgrade:
    before, now = _by_name(old.stores), _by_name(new.stores)
    retired = _by_name(old.retired)
    kept = [(before[name], now[name]) for name in before if name in now]
    changes = [
        *_renamed(before, now, retired),
        *(change for pair in kept for change in _store_changes(*pair)),
        *_swapped(kept),
        *_repartition_changes(old, new),
        *_source_changes(old, new),
    ]
    return Upgrade(tuple(changes))


def _by_name(stores: Iterable[StoreShape]) -> dict[str, StoreShape]:
    return {store.name: store for store in stores}


def _renamed(
    before: dict[str, StoreShape], now: dict[str, StoreShape], retired: dict[str, StoreShape]
) -> Iterator[Change]:
    """Stores that are gone and stores that are new; a generated name that moved on is both, and means to be neither."""
    gone = [store for name, store in before.items() if name not in now]
    added = [store for name, store in now.items() if name not in before]
    for store in gone:
        successor = next((each for each in added if _is_renumbered(store, each)), None)
        if successor is None:
            yield _gone(store, [each for each in added if each.name not in retired])
            continue
        added.remove(successor)
        text = f"the store has no name of its own, and its generated name is {successor.name} now; "
        yield Change(Effect.REFUSE, store.name, text + "its content would be left behind", _name_it(store))
    for store in added:
        yield from _returned(retired.get(store.name), store)


def _gone(store: StoreShape, empty: Iterable[StoreShape]) -> Change:
    """A store that the topology has no longer; one of the ``empty`` ones may do its work now."""
    heir = next((each for each in empty if (each.lineage, each.kind) == (store.lineage, store.kind)), None)
    if heir is None or not store.lineage:
        text = "the store is gone from the topology; its files and its changelog are kept"
        return Change(Effect.NOTE, store.name, text)
    text = f"the store is left behind with its content ({store.changelog or 'in its files'}): "
    hint = f"To go on with it, give the store the name {store.name!r} again"
    return Change(Effect.LEFT, store.name, f"{text}{heir.name} is filled in its place and starts empty", hint)


def _returned(old: StoreShape | None, new: StoreShape) -> Iterator[Change]:
    """A store that the topology did not have the last time; it may have had it before."""
    if old is not None and old.changelog is not None and new.subtopology is not None:
        yield from _refusals(old, new)
        text = f"the store is back, with the content that it had, from {new.changelog}"
        yield Change(Effect.NEW, new.name, text)
    elif new.subtopology is not None:
        yield Change(Effect.NEW, new.name, "the store is new and starts empty")


def _is_renumbered(old: StoreShape, new: StoreShape) -> bool:
    is_generated = GENERATED.search(old.name) is not None
    return is_generated and GENERATED.sub("", old.name) == GENERATED.sub("", new.name) and old.kind == new.kind


def _name_it(store: StoreShape) -> str:
    return f"Name the store in the program: {store.name!r} to go on with its content, any other name to start empty"


def _store_changes(old: StoreShape, new: StoreShape) -> Iterator[Change]:
    refused = list(_refusals(old, new))
    if refused:
        yield from refused
        return
    if new.subtopology is not None and old.subtopology != new.subtopology:
        yield _moved(old, new)
    differences = list(_layout_differences(old, new))
    if differences and _has_only_copies(old, new):
        outcome = "it has no changelog to be filled from again"
        yield Change(Effect.REFUSE, new.name, ", ".join(differences), _NEW_NAME, outcome)
    elif differences:
        yield Change(Effect.REBUILD, new.name, ", ".join(differences), outcome=_source_of(new))


def _moved(old: StoreShape, new: StoreShape) -> Change:
    text = f"the store moves from sub-topology {old.subtopology} to {new.subtopology}"
    if _has_only_copies(old, new):
        outcome = "it has no changelog, so its content cannot follow"
        return Change(Effect.REFUSE, new.name, text, f"{_STAY}. {_NEW_NAME}", outcome)
    return Change(Effect.RESTORE, new.name, text, outcome=_source_of(new))


def _source_of(store: StoreShape) -> str:
    if store.changelog is None:
        return "it was in memory and has no changelog, so it starts empty"
    return f"its content is read again from {store.changelog}"


def _has_only_copies(old: StoreShape, new: StoreShape) -> bool:
    """Whether there is content that is nowhere but in the files of the tasks. What was in memory ended with them."""
    return new.subtopology is not None and new.changelog is None and old.persistent


def _swapped(kept: list[tuple[StoreShape, StoreShape]]) -> Iterator[Change]:
    """Two stores that have exchanged their names: each would go on with the content of the other."""
    steps = {(old.lineage, new.lineage): old.name for old, new in kept if old.lineage and old.lineage != new.lineage}
    for (was, is_now), name in steps.items():
        other = steps.get((is_now, was))
        if other is not None:
            text = f"it is filled now by what filled {other} before"
            hint = "Give each store the name that it had, or names that are new: then they start empty"
            yield Change(Effect.REFUSE, name, text, hint)


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
    if old.lineage and not new.is_named and old.lineage != new.lineage:
        text = "the store has no name of its own, and what comes before it in the program has changed: "
        yield Change(Effect.REFUSE, new.name, text + "it may be another store with the same number", _name_it(old))
    if old.partitions != new.partitions:
        text = f"it had {old.partitions} partitions and would have {new.partitions}: keys would be looked for elsewhere"
        yield Change(Effect.REFUSE, new.name, text, OTHER_PARTITIONS)
    if old.changelog != new.changelog:
        text = f"its changelog was {old.changelog or 'switched off'} and is {new.changelog or 'switched off'} now"
        hint = f"Leave logging, topology.optimization and the topic as they were. {_NEW_NAME}"
        yield Change(Effect.REFUSE, new.name, text, hint)
    for what, was, is_now in (
        ("keys", old.key_format, new.key_format),
        ("values", old.value_format, new.value_format),
    ):
        if was and is_now and was != is_now:
            text = f"its {what} were written with the serde {was} and would be read with {is_now}"
            yield Change(Effect.REFUSE, new.name, text, f"Give the store the serde that it had. {_NEW_NAME}")
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
            hint = f"Where the program asks for {now}, let it ask for {count}, or give the repartition another name="
            yield Change(Effect.REFUSE, topic, text, hint)


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
