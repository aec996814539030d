"""Which topics the topology under test reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.errors import TopologyError

if TYPE_CHECKING:
    from headrace.topology.task_plan import TaskPlan


class Inputs:
    """The topics and patterns that the task and the global task read."""

    def __init__(self, plan: TaskPlan, global_plan: TaskPlan | None) -> None:
        self.patterns = {pattern.pattern: source for source, pattern in plan.patterns.items()}
        """The sources by their patterns."""
        self._own = frozenset(plan.source_topics)
        self._global = frozenset(() if global_plan is None else global_plan.source_topics)
        self.topics = [
            *plan.source_topics,
            *self.patterns,
            *(() if global_plan is None else global_plan.source_topics),
        ]
        """All topics, and patterns, that are read."""
        self._queues: dict[str, str | None] = {}

    def is_global(self, topic: str) -> bool:
        """Whether the global task reads the topic."""
        return topic in self._global

    def queue_of(self, topic: str) -> str | None:
        """The name under which the task queues records of ``topic``: its own, or the pattern that it matches."""
        if topic not in self._queues:
            self._queues[topic] = self._find_queue(topic)
        return self._queues[topic]

    def _find_queue(self, topic: str) -> str | None:
        for name in self.topics:
            if name != topic and name not in self.patterns and _matches(name, topic):
                message = f"the source topic {name!r} was given as a name but reads like a pattern for {topic!r}"
                raise TopologyError(message, hint="Give the source pattern= instead of a topic.")
        if topic in self._own:
            return topic
        return next((pattern for pattern in self.patterns if _matches(pattern, topic)), None)


def _matches(pattern: str, topic: str) -> bool:
    try:
        return re.fullmatch(pattern, topic) is not None
    except re.error:
        return False
