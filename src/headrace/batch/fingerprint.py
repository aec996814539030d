"""What an application's state was made by: sub-topologies, stores and internal topics, as JSON beside the state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.errors import UpgradeError

if TYPE_CHECKING:
    from headrace.batch.topics import TopicPlan
    from headrace.topology import Topology
    from headrace.topology.subtopologies import Subtopology

FORMAT = 1
"""The version of the JSON."""


@dataclass(frozen=True, slots=True)
class StoreShape:
    """A store, as far as its bytes depend on it. What is None does not apply."""

    name: str
    kind: str
    """``kv``, ``window``, ``session``, ``versioned``, the kind of a buffer, or the class of a store of the user's."""
    format: str
    """The full type: whether values have timestamps and headers."""
    subtopology: int | None
    """None for a global store."""
    partitions: int
    persistent: bool
    changelog: str | None
    retention_ms: int | None = None
    history_ms: int | None = None
    window_size_ms: int | None = None
    retain_duplicates: bool = False
    layout: str = ""
    """In which order entries lie, where there is a choice."""


@dataclass(frozen=True, slots=True)
class SubtopologyShape:
    """A sub-topology: what it reads, how many tasks it has."""

    id: int
    tasks: int
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """All of a topology that state depends on."""

    application: str
    subtopologies: tuple[SubtopologyShape, ...]
    stores: tuple[StoreShape, ...]
    repartitions: Mapping[str, int] = field(hash=False)
    """Repartition topics and their numbers of partitions."""

    def to_json(self) -> str:
        """As text that ``from_json`` reads."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Fingerprint:
        """What ``to_json`` wrote; an UpgradeError where that was a Headrace of another time."""
        found = json.loads(text)
        if found.get("format") != FORMAT:
            message = f"the state was left by another version of Headrace (format {found.get('format')!r})"
            raise UpgradeError(message, detail=f"this one knows format {FORMAT}", hint="Use the version that wrote it.")
        return cls(
            application=found["application"],
            subtopologies=tuple(
                SubtopologyShape(each["id"], each["tasks"], tuple(each["sources"])) for each in found["subtopologies"]
            ),
            stores=tuple(StoreShape(**each) for each in found["stores"]),
            repartitions=found["repartitions"],
        )


def fingerprint(topology: Topology, plan: TopicPlan) -> Fingerprint:
    """The fingerprint of a configured topology with the partitions of ``plan``."""
    groups = topology.subtopologies()
    return Fingerprint(
        application=topology.graph.prefix or "",
        subtopologies=tuple(_subtopology(group, plan) for group in groups if not group.is_global),
        stores=tuple(sorted(_stores(topology, groups, plan), key=lambda store: store.name)),
        repartitions={topic.name: topic.partitions for topic in plan.internal if topic.kind == "repartition"},
    )


def _subtopology(group: Subtopology, plan: TopicPlan) -> SubtopologyShape:
    read = (topic for topic, number in plan.subtopology_of.items() if number == group.id)
    return SubtopologyShape(group.id, plan.tasks[group.id], tuple(sorted(read)))


def _stores(topology: Topology, groups: Iterable[Subtopology], plan: TopicPlan) -> Iterable[StoreShape]:
    graph = topology.graph
    for group in groups:
        for name in group.stores:
            changelog = graph.changelog_of(name)
            if group.is_global:
                yield _shape(graph.global_stores[name], None, 1, changelog)
            else:
                yield _shape(graph.stores[name], group.id, plan.tasks[group.id], changelog)


def _shape(builder: Any, subtopology: int | None, partitions: int, changelog: str | None) -> StoreShape:
    store = _sample(builder)
    full = str(getattr(store, "store_type", "") or f"{type(store).__module__}.{type(store).__qualname__}")
    return StoreShape(
        name=builder.name,
        kind=full.removeprefix("timestamped_").removesuffix("_with_headers"),
        format=full,
        subtopology=subtopology,
        partitions=partitions,
        persistent=bool(getattr(store, "persistent", False)),
        changelog=changelog,
        retention_ms=builder.retention_ms,
        history_ms=builder.history_ms,
        window_size_ms=getattr(store, "window_size_ms", None),
        retain_duplicates=bool(getattr(store, "retain_duplicates", False)),
        layout=_layout(store),
    )


def _layout(store: Any) -> str:
    while hasattr(store, "inner"):
        store = store.inner
    if not hasattr(store, "with_index"):
        return ""
    return "by time, with an index" if store.with_index else "by time"


def _sample(builder: Any) -> Any:
    """A store that is never opened, to be asked for its kind. A builder of the user's is left alone."""
    return builder.build() if type(builder).__module__.startswith("headrace.") else builder
