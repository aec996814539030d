"""Which stores an application has, of what kind each is, and which topic tells what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.batch.application import Application
from headrace.batch.levels import plan_levels
from headrace.batch.topics import plan_topics
from headrace.config import StreamsConfig

if TYPE_CHECKING:
    from headrace.broker.port import Broker
    from headrace.topology import Topology

_WITH_HEADERS = "_with_headers"
READABLE = frozenset({"kv", "timestamped_kv", "versioned", "window", "timestamped_window", "session"})
"""The kinds of stores that can be asked; the others are what operators keep for themselves."""


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """One store of an application."""

    name: str
    kind: str
    """The store's type, such as ``timestamped_kv``, with or without ``_with_headers``."""
    builder: Any
    persistent: bool
    topic: str | None
    """Its changelog, or the source topic that serves as such; None where there is none."""
    partitions: int
    subtopology: int | None
    """None for a global store."""
    is_source: bool = False
    """Whether ``topic`` is one of the user's; then the store reflects only the offsets that were committed."""

    @property
    def is_global(self) -> bool:
        """Whether every task has all of it."""
        return self.subtopology is None

    @property
    def plain_kind(self) -> str:
        """The kind, whether or not its values have room for headers."""
        return self.kind.removesuffix(_WITH_HEADERS)

    @property
    def wraps_values(self) -> bool:
        """Whether the store gives values together with timestamps or headers."""
        return self.kind.startswith("timestamped") or self.kind.endswith(_WITH_HEADERS)

    @property
    def is_readable(self) -> bool:
        """Whether its entries can be asked for."""
        return self.plain_kind in READABLE


def lay_out_existing(topology: Topology, settings: Mapping[str, Any] | StreamsConfig, broker: Broker) -> Application:
    """The application over the topics that there are; unlike ``batch.application.lay_out`` it makes none."""
    config = StreamsConfig(settings)
    topology.configure(config)
    plan = plan_topics(topology, broker.topics(), address=broker.address)
    return Application(topology, config, plan, plan_levels(topology, plan.sources))


def store_layouts(application: Application) -> dict[str, StoreLayout]:
    """All stores by name, sub-topology by sub-topology, global ones last."""
    found: dict[str, StoreLayout] = {}
    for number, tasks in application.topics.tasks.items():
        plan = application.topology.task_plan(number)
        for name, builder in plan.stores.items():
            topic = plan.store_to_changelog.get(name)
            is_source = topic is not None and topic in application.topics.subtopology_of
            found[name] = _layout(name, builder, topic, tasks, number, is_source=is_source)
    global_plan = application.topology.global_plan()
    if global_plan is not None:
        for name, builder in global_plan.global_stores.items():
            topic = global_plan.store_to_changelog.get(name)
            found[name] = _layout(name, builder, topic, 1, None, is_source=True)
    return found


def _layout(
    name: str, builder: Any, topic: str | None, partitions: int, subtopology: int | None, *, is_source: bool
) -> StoreLayout:
    # A store need not be opened to know its kind.
    store = builder.build()
    kind = str(getattr(store, "store_type", "")) or type(store).__name__
    persistent = bool(getattr(store, "persistent", False))
    return StoreLayout(name, kind, builder, persistent, topic, partitions, subtopology, is_source)
