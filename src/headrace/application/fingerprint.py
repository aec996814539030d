"""What an application's state was made by: sub-topologies, stores and internal topics, as JSON beside the state."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.application.lineage import comes_by_hash, lineages
from headrace.errors import HeadraceError, UpgradeError
from headrace.serde.defaults import resolve_key_serde, resolve_value_serde
from headrace.serde.json_values import JsonSerde
from headrace.serde.primitives import BooleanSerde, FloatingSerde, IntegerSerde, StringSerde, UuidSerde
from headrace.state.kinds import kind_of

if TYPE_CHECKING:
    from headrace.application.topics import TopicPlan
    from headrace.topology import TopologyPlan
    from headrace.topology.subtopologies import Subtopology

FORMAT = 1
"""The version of the JSON. What was added since has a default that means: not known."""

GENERATED = re.compile(r"\d{10}")
"""What generated names have in common."""


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
    key_format: str = ""
    value_format: str = ""
    """What the serdes write, where that is known."""
    lineage: str = ""
    """Where its content comes from: that of the processor that writes it."""
    is_named: bool = True
    """Whether the user gave it a name; one that was generated belongs to whichever store draws the same number."""
    writer: str = ""
    """The processor that writes it."""
    is_repartitioned: bool | None = None
    """Whether the hash of a key alone decides in which partition it is; None where that is not known."""


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
    processors: Mapping[str, str] = field(hash=False, default_factory=dict)
    """The lineage of each processor, by its name."""
    retired: tuple[StoreShape, ...] = ()
    """Stores that the program had once; their changelogs are still there."""

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
            processors=found.get("processors", {}),
            retired=tuple(StoreShape(**each) for each in found.get("retired", ())),
        )

    def after(self, old: Fingerprint) -> Fingerprint:
        """The same, with the stores remembered that ``old`` had and that are gone now."""
        names = {store.name for store in self.stores}
        gone = {store.name: store for store in (*old.retired, *old.stores) if store.name not in names}
        return replace(self, retired=tuple(gone[name] for name in sorted(gone)))


def fingerprint(topology: TopologyPlan, plan: TopicPlan) -> Fingerprint:
    """The fingerprint of a configured topology with the partitions of ``plan``."""
    groups = topology.subtopologies()
    origins = lineages(topology.graph)
    processors = {name for group in groups if not group.is_global for name in group.nodes}
    return Fingerprint(
        application=topology.graph.prefix,
        subtopologies=tuple(_subtopology(group, plan) for group in groups if not group.is_global),
        stores=tuple(sorted(_stores(topology, groups, plan, origins), key=lambda store: store.name)),
        repartitions={topic.name: topic.partitions for topic in plan.internal if topic.kind == "repartition"},
        processors={name: origin for name, origin in origins.items() if name in processors},
    )


def _subtopology(group: Subtopology, plan: TopicPlan) -> SubtopologyShape:
    read = (topic for topic, number in plan.subtopology_of.items() if number == group.id)
    return SubtopologyShape(group.id, plan.tasks[group.id], tuple(sorted(read)))


def _stores(
    topology: TopologyPlan, groups: Iterable[Subtopology], plan: TopicPlan, origins: Mapping[str, str]
) -> Iterable[StoreShape]:
    graph = topology.graph
    for group in groups:
        for name in group.stores:
            if group.is_global:
                yield _shape(topology, graph.global_stores[name], None, 1)
            else:
                # Others may read it as well: an operator is connected to its own store before all of them.
                writer = next(iter(graph.users_of[name]))
                shape = _shape(topology, graph.stores[name], group.id, plan.tasks[group.id])
                by_hash = comes_by_hash(graph, writer)
                yield replace(shape, writer=writer, lineage=origins[writer], is_repartitioned=by_hash)


def _shape(topology: TopologyPlan, builder: Any, subtopology: int | None, partitions: int) -> StoreShape:
    store = _sample(builder)
    kind = kind_of(builder, store, full_name=True)
    return StoreShape(
        name=builder.name,
        kind=kind.shape,
        format=str(kind),
        subtopology=subtopology,
        partitions=partitions,
        persistent=bool(getattr(store, "persistent", False)),
        changelog=topology.graph.changelog_of(builder.name),
        retention_ms=builder.retention_ms,
        history_ms=builder.history_ms,
        window_size_ms=getattr(store, "window_size_ms", None),
        retain_duplicates=bool(getattr(store, "retain_duplicates", False)),
        layout=_layout(store),
        key_format=_serde_format(topology, resolve_key_serde, store, "_key_serde"),
        value_format=_serde_format(topology, resolve_value_serde, store, "_value_serde"),
        is_named=_is_named(builder),
    )


def _is_named(builder: Any) -> bool:
    return GENERATED.search(builder.name) is None or getattr(builder, "is_queryable", False)


def _serde_format(topology: TopologyPlan, resolve: Any, store: Any, attribute: str) -> str:
    try:
        return format_of(resolve(getattr(store, attribute), topology.config)) if hasattr(store, attribute) else ""
    except HeadraceError:
        return ""  # there is no default serde; whoever uses the store is told


def _layout(store: Any) -> str:
    while hasattr(store, "inner"):
        store = store.inner
    if not hasattr(store, "with_index"):
        return ""
    return "by time, with an index" if store.with_index else "by time"


def _sample(builder: Any) -> Any:
    """A store that is never opened, to be asked for its kind. A builder of the user's is left alone."""
    return builder.build() if type(builder).__module__.startswith("headrace.") else builder


def format_of(serde: Any) -> str:
    """The name of what a serde writes: enough to see that two of ours do not fit each other.

    Nothing where it is the user's own, or depends on more than the class.

    >>> format_of(serdes.long()), format_of(serdes.json()), format_of(serdes.bytes())
    ('long', 'json', '')
    """
    if isinstance(serde, JsonSerde):
        return "json"
    known = (StringSerde, IntegerSerde, FloatingSerde, BooleanSerde, UuidSerde)
    return serde.name.removesuffix("()") if isinstance(serde, known) else ""
