"""Which stores an application has, of what kind each is, and which topic tells what it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.errors import UnsupportedError
from headrace.state.kinds import StoreKind, kind_of

if TYPE_CHECKING:
    from headrace.application.layout import Application


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


def check_readable(name: str, kind: StoreKind, *, has_topic: bool) -> None:
    """An UnsupportedError where a store cannot be read outside of its tasks; a topic has to tell what it holds."""
    if not kind.is_readable:
        message = f"the store {name!r} cannot be read: an operator keeps it for itself ({kind})"
        raise UnsupportedError(message)
    if not has_topic:
        message = f"the store {name!r} has no changelog: it cannot be read outside of a running task"
        raise UnsupportedError(message, hint="Leave logging on for stores that are to be read from outside.")


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
    kind = kind_of(builder, store)
    persistent = bool(getattr(store, "persistent", False))
    return StoreLayout(name, kind, builder, persistent, topic, partitions, subtopology, is_source)
