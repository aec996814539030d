"""A topology under one configuration: what an application runs."""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from headrace.topology.internal_topics import InternalTopic, internal_topics
from headrace.topology.nodes import TopologyGraph
from headrace.topology.subtopologies import Subtopology, copartition_groups, subtopologies
from headrace.topology.task_plan import TaskPlan, global_plan, task_plan

if TYPE_CHECKING:
    from headrace.config import StreamsConfig

_PREFIX_OVERRIDE = "__internal.override.topic.prefix__"


@dataclass(frozen=True)
class TopologyPlan:
    """The nodes of a topology, its stores settled and its topics named in full. It can be pickled and shipped."""

    graph: TopologyGraph
    config: StreamsConfig

    def task_plan(self, subtopology: int | None = None) -> TaskPlan:
        """What a task of ``subtopology`` runs; of all of them in one task, as the test driver, without one."""
        return task_plan(self.graph, subtopology)

    def global_plan(self) -> TaskPlan | None:
        """What fills the global stores; None where there are none."""
        return global_plan(self.graph)

    def internal_topics(self) -> list[InternalTopic]:
        """Repartition topics and changelogs, with the settings to create them with."""
        return internal_topics(self.graph, self.config)

    def subtopologies(self) -> list[Subtopology]:
        return subtopologies(self.graph)

    def copartition_groups(self) -> list[frozenset[str]]:
        return copartition_groups(self.graph)


def topology_plan(graph: TopologyGraph, config: StreamsConfig) -> TopologyPlan:
    """The plan of ``graph`` under ``config``; the graph and its store builders stay as they are."""
    parts = {each.name: copy.copy(getattr(graph, each.name)) for each in fields(graph)}
    for stores in (parts["stores"], parts["global_stores"]):
        stores.update({name: builder.configured(config) for name, builder in stores.items()})
    parts["prefix"] = config.originals.get(_PREFIX_OVERRIDE) or config.application_id
    return TopologyPlan(TopologyGraph(**parts), config)
