"""An application: its topology, laid out over the topics that there are.

Made once, at the start; nothing in it changes afterwards, and it can be shipped to other processes.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.application.existing_topics import check_existing
from headrace.application.levels import LevelPlan, plan_levels
from headrace.application.resets import ResetPolicy, reset_policy
from headrace.application.state_place import placed
from headrace.application.task_id import TaskId
from headrace.application.topics import TopicPlan, plan_topics
from headrace.config import StreamsConfig
from headrace.errors import TopicExistsError
from headrace.task.handlers import DEAD_LETTER_TOPIC
from headrace.topology.nodes import SinkNode, SourceNode

if TYPE_CHECKING:
    from headrace.broker.port import Broker, Log
    from headrace.topology import Topology, TopologyPlan


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Application:
    topology: TopologyPlan
    config: StreamsConfig
    topics: TopicPlan
    levels: LevelPlan
    address: str
    """Of the broker, for commands that errors recommend."""
    outputs: Mapping[str, int] = field(default_factory=dict)
    """The topics that it writes to, as far as they are known beforehand, and how many partitions they have."""

    @property
    def id(self) -> str:
        return self.config.application_id

    @property
    def internal_topics(self) -> frozenset[str]:
        return frozenset(topic.name for topic in self.topics.internal)

    @property
    def repartition_topics(self) -> frozenset[str]:
        """The repartition topics. They exist only within a batch: what is written to one is read in the same batch."""
        return frozenset(topic.name for topic in self.topics.internal if topic.kind == "repartition")

    @cached_property
    def addresses(self) -> dict[str, tuple[int, int]]:
        """Where records for a repartition topic go: the number of the task of its first partition, and the level."""
        numbers = {task: number for number, task in enumerate(self.topics.task_ids())}
        return {
            topic: (numbers[TaskId(self.topics.subtopology_of[topic], 0)], self.levels.level_of(topic))
            for topic in self.repartition_topics
        }

    def state_dir(self, task: TaskId) -> Path:
        return self.config.state_dir / self.id / str(task)

    def topics_by_pattern(self) -> frozenset[str]:
        nodes = {node.name for node in self.topology.graph.sources() if node.pattern is not None}
        return frozenset(topic for name, topics in self.topics.sources.items() if name in nodes for topic in topics)

    def reset_policies(self) -> dict[str, ResetPolicy]:
        """What to do for each topic of the user's where nothing is committed."""
        nodes = self.topology.graph.nodes
        policies = {}
        for name, topics in self.topics.sources.items():
            node = nodes[name]
            assert isinstance(node, SourceNode)
            policies.update(dict.fromkeys(topics, reset_policy(node.offset_reset, self.config)))
        return {topic: policy for topic, policy in policies.items() if topic not in self.repartition_topics}


def lay_out(
    topology: Topology, settings: Mapping[str, Any] | StreamsConfig, broker: Broker, *, is_to_run: bool = True
) -> Application:
    """Lay the topology out over the broker's topics.

    Where the application is to run, ``take_over`` sees whether its internal topics fit, and what has changed.
    """
    config = placed(StreamsConfig(settings), broker.address)
    configured = topology.configured(config)
    existing = broker.topics()
    plan = plan_topics(configured, existing, broker.address)
    if not is_to_run:
        check_existing(plan.internal, existing, {}, address=broker.address)
    return Application(configured, config, plan, plan_levels(configured, plan.sources), broker.address)


def make_topics(application: Application, broker: Log, *, has_run: bool) -> Application:
    """Make the changelogs that are missing, and the topics that the application writes to, with one partition."""
    topics, existing = application.topics, broker.topics()
    for topic in topics.missing:
        if topic.kind == "changelog":
            _make(broker, topic.name, topic.partitions, topic.config)
    outputs = _output_topics(application.topology, application.config) - {topic.name for topic in topics.internal}
    for name in outputs - existing.keys():
        _make(broker, name)
        if has_run:
            log.warning("the topic %s was not there and was made with one partition", name)
    there = broker.topics()
    return replace(application, outputs={name: there[name] for name in sorted(outputs | set(topics.changelogs))})


def _make(broker: Log, name: str, partitions: int = 1, config: Mapping[str, object] | None = None) -> None:
    # Another process that starts the same application may have made it just now; the lease is what decides.
    with suppress(TopicExistsError):
        broker.create_topic(name, partitions, config)


def _output_topics(topology: TopologyPlan, config: StreamsConfig) -> set[str]:
    """The topics of the user's that are written to. Those that a function chooses for each record are not known yet."""
    graph = topology.graph
    topics = {node.topic for node in graph.nodes.values() if isinstance(node, SinkNode) and node.topic is not None}
    dead_letters = config[DEAD_LETTER_TOPIC]
    return {topic for topic in topics if topic not in graph.internal_topics} | (
        {dead_letters} if dead_letters else set()
    )
