"""Which stores an application has, of what kind each is, and which topic tells what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.application.layout import Application
from headrace.application.levels import plan_levels
from headrace.application.topics import plan_topics
from headrace.config import StreamsConfig
from headrace.state.kinds import StoreKind

if TYPE_CHECKING:
    from headrace.broker.port import Broker
    from headrace.topology import Topology


@dataclass(frozen=True, slots=True)
class StoreLayout:
    """One store of an application."""

    name: str
    kind: StoreKind
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


def lay_out_existing(topology: Topology, settings: Mapping[str, Any] | StreamsConfig, broker: Broker) -> Application:
    """The application over the topics that there are; unlike ``batch.application.lay_out`` it makes none."""
    config = StreamsConfig(settings)
    configured = topology.configured(config)
    plan = plan_topics(configured, broker.topics(), address=broker.address)
    return Application(configured, config, plan, plan_levels(configured, plan.sources))


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
    # A store need not be opened to know where it keeps its entries.
    store = builder.build()
    kind = getattr(builder, "kind", None) or StoreKind(type(store).__name__)
    persistent = bool(getattr(store, "persistent", False))
    return StoreLayout(name, kind, builder, persistent, topic, partitions, subtopology, is_source)
