"""Are the internal topics that exist already the ones that are needed?

Kafka Streams compares partition counts when it starts (InternalTopicManager.makeReady). It has checks of cleanup
policies too (``validate``, KIP-698) but does not run them at start; here they run: a changelog that deletes what it
should keep loses state without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from headrace.errors import InternalTopicError

if TYPE_CHECKING:
    from headrace.application.topics import PlannedTopic

_UNLIMITED = -1
_ALTER = (
    "Change the settings of the topics, then start again: headrace topics alter TOPIC --config NAME=VALUE. "
    "What is gone already stays gone; to start over: headrace reset app.py."
)


def check_existing(
    planned: Iterable[PlannedTopic],
    there: Mapping[str, int],
    configs: Mapping[str, Mapping[str, str]],
    *,
    application: str,
) -> None:
    """Refuse topics that exist with another number of partitions or with settings that lose records."""
    topics = [topic for topic in planned if topic.exists]
    _check_counts({topic: there[topic.name] for topic in topics}, application)
    problems = {topic.name: list(_problems(topic, configs.get(topic.name, {}))) for topic in topics}
    problems = {name: found for name, found in problems.items() if found}
    if problems:
        message = f"internal topics have settings that lose records: {', '.join(problems)}"
        detail = "; ".join(f"{name}: {', '.join(found)}" for name, found in problems.items())
        raise InternalTopicError(message, detail=detail, hint=_ALTER)


def _check_counts(counts: Mapping[PlannedTopic, int], application: str) -> None:
    wrong = {topic: count for topic, count in counts.items() if count != topic.partitions}
    if not wrong:
        return
    names = ", ".join(topic.name for topic in wrong)
    message = f"internal topics have the wrong number of partitions: {names}"
    needed = (f"{topic.name} has {count} partitions, {topic.partitions} are needed" for topic, count in wrong.items())
    hint = (
        "Keys are spread over the partitions that are there. Bring the source topics back to their number of "
        f"partitions, or start over: headrace reset app.py ({application})."
    )
    raise InternalTopicError(message, detail="; ".join(needed), hint=hint)


def _problems(topic: PlannedTopic, found: Mapping[str, str]) -> Iterator[str]:
    if "cleanup.policy" in found:
        yield from _policy_problems(topic, found)
    lag, needed = _number(found, "min.compaction.lag.ms"), _number(topic.config, "min.compaction.lag.ms")
    if lag is not None and needed is not None and lag < needed:
        yield f"min.compaction.lag.ms is {lag}, it must be at least {needed}"


def _policy_problems(topic: PlannedTopic, found: Mapping[str, str]) -> Iterator[str]:
    policy, planned = _policy(found), _policy(topic.config)
    if "compact" in policy and topic.kind == "repartition":
        yield "cleanup.policy must not contain compact"
    if "delete" not in policy:
        return
    if "delete" not in planned:
        yield "cleanup.policy must not contain delete"
        return
    kept, needed = _number(found, "retention.ms"), _number(topic.config, "retention.ms")
    if kept is not None and needed is not None and _is_shorter(kept, needed):
        yield f"retention.ms is {kept}, it must be {'-1' if needed == _UNLIMITED else f'at least {needed}'}"
    size, allowed = _number(found, "retention.bytes"), _number(topic.config, "retention.bytes")
    if size is not None and size != _UNLIMITED and size != allowed:
        yield f"retention.bytes is {size}, it must not be set"


def _policy(config: Mapping[str, str]) -> set[str]:
    return {part.strip() for part in config.get("cleanup.policy", "").split(",")}


def _is_shorter(kept: int, needed: int) -> bool:
    return kept != _UNLIMITED and (needed == _UNLIMITED or kept < needed)


def _number(config: Mapping[str, str], name: str) -> int | None:
    value = config.get(name)
    return None if value is None else int(value)
