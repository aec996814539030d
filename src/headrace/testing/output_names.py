"""Which topics a topology under test can write to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import UnknownTopicError, user_line
from headrace.near_names import did_you_mean
from headrace.topology.nodes import SinkNode

if TYPE_CHECKING:
    from headrace.config import StreamsConfig
    from headrace.topology.task_plan import TaskPlan

_HANDLERS = ("deserialization.exception.handler", "processing.exception.handler", "production.exception.handler")


def check_output(topic: str, plan: TaskPlan, config: StreamsConfig) -> None:
    """Refuse a topic that is never written to, where the name of one that is written to is near.

    Topics that functions of the program name are not known: a sink with a function, a handler with dead letters.
    """
    sinks = [node.kind for node in plan.nodes if isinstance(node.kind, SinkNode)]
    if any(sink.topic is None for sink in sinks) or any(not isinstance(config[name], str) for name in _HANDLERS):
        return
    written = {plan.topic_name(str(sink.topic)) for sink in sinks}
    others = {*plan.store_to_changelog.values(), *plan.source_topics, config["errors.dead.letter.queue.topic.name"]}
    hint = None if topic in written | others else did_you_mean(topic, written)
    if hint is not None:
        message = f"the topology does not write to the topic {topic!r}"
        detail = f"it writes to {', '.join(sorted(written))}"
        raise UnknownTopicError(message, detail=detail, hint=hint, at=user_line())
