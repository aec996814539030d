"""What a reset of an application takes away and moves: found first, so that it can be shown, then done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.application.state_place import placed
from headrace.broker.port import Broker, OffsetAndMetadata, TopicPartition
from headrace.broker.positions import TopicPosition, resolve
from headrace.cli.program_config import ProgramApplication
from headrace.lifecycle.state_directory import check_unused, clean_up
from headrace.state.directory_hold import last_holder
from headrace.topology.nodes import TopologyGraph

_INTERNAL = ("-changelog", "-repartition", "-subscription-registration-topic", "-subscription-response-topic")


@dataclass(frozen=True)
class ResetPlan:
    """One application as it is, and as it will be."""

    application: str
    targets: dict[TopicPartition, int]
    """Where its input starts then."""
    committed: dict[TopicPartition, int]
    """Where it would go on now."""
    internal_topics: list[str]
    has_commits: bool
    home: Path | None
    """Where its local state is, or would be; None where an application of that name on another broker has that."""

    def data(self) -> dict[str, Any]:
        """The plan as JSON can say it."""
        inputs = [
            {"topic": one[0], "partition": one[1], "from": self.committed.get(one), "to": offset}
            for one, offset in self.targets.items()
        ]
        return {
            "application": self.application,
            "inputs": inputs,
            "deleted_topics": self.internal_topics,
            "deleted_commits": self.has_commits,
            "deleted_directory": str(self.home) if self.home is not None and self.home.is_dir() else None,
        }

    def carry_out(self, broker: Broker) -> None:
        """Do it. LeaseHeldError where the application runs; then nothing is changed."""
        if self.home is not None:
            check_unused(self.home)
        # The commits go first: an application without them starts over, whatever else is still there after a crash.
        broker.delete_application(self.application)
        # Whoever holds the lease runs the application: it cannot be started while its state goes.
        with broker.acquire_lease(self.application, note="headrace reset"):
            if self.targets:
                offsets = {one: OffsetAndMetadata(offset) for one, offset in self.targets.items()}
                broker.commit_offsets(self.application, offsets)
            for topic in self.internal_topics:
                broker.delete_topic(topic)
            # Stores in memory may be left of an application whose directory is gone.
            if self.home is not None:
                clean_up(self.home)


def plan_reset(program: ProgramApplication, broker: Broker, position: TopicPosition) -> ResetPlan:
    """Look at what there is. Missing topics are no obstacle: a reset mends what cannot start."""
    config = placed(program.config, broker.address)
    topology = program.topology.configured(config)
    application = config.application_id
    existing = broker.topics()
    internal = list(_internal_topics(broker, topology.graph, application, existing))
    inputs = _input_topics(topology.graph, existing, internal)
    partitions = [(topic, number) for topic in inputs for number in range(existing[topic])]
    return ResetPlan(
        application,
        resolve(broker, position, partitions),
        {one: note.offset for one, note in broker.committed(application).items()},
        internal,
        broker.last_decided(application) is not None or bool(broker.committed(application)),
        config.application_dir if last_holder(config.application_dir) in (None, broker.identity) else None,
    )


def _input_topics(graph: TopologyGraph, existing: dict[str, int], internal: Iterable[str]) -> list[str]:
    """The topics of the user's that the sources read, without those of global stores, which are always read whole."""
    found: dict[str, None] = {}
    for node in graph.sources():
        if graph.is_global_source(node.name):
            continue
        found.update(dict.fromkeys(graph.full_topic(topic) for topic in node.topics))
        if node.pattern is not None:
            found.update(dict.fromkeys(sorted(topic for topic in existing if node.pattern.fullmatch(topic))))
    own = {graph.full_topic(topic) for topic in graph.internal_topics}
    return [topic for topic in found if topic in existing and topic not in {*internal, *own}]


def _internal_topics(broker: Broker, graph: TopologyGraph, application: str, existing: Iterable[str]) -> Iterator[str]:
    """Those that carry the application's name, also of topologies that it had before.

    A topic that the program reads as a topic of the user's is none of them, and neither is one of another application
    whose name begins as this one's.
    """
    own = {topic for node in graph.sources() for topic in node.topics if topic not in graph.internal_topics}
    others = [name for name in broker.groups() if name.startswith(f"{application}-")]
    others += broker.applications(f"{application}-")
    for topic in sorted(existing):
        is_ours = topic.startswith(f"{application}-") and topic.endswith(_INTERNAL)
        if is_ours and topic not in own and not any(topic.startswith(f"{other}-") for other in others):
            yield topic
