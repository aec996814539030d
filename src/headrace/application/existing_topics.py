"""Are the internal topics that exist already the ones that are needed?

Kafka Streams compares partition counts when it starts (InternalTopicManager.makeReady). It has checks of cleanup
policies too (``validate``, KIP-698) but does not run them at start; here they run: a changelog that deletes what it
should keep loses state without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from headrace.commands import command, reset
from headrace.errors import InternalTopicError

if TYPE_CHECKING:
    from headrace.application.topics import PlannedTopic

_UNLIMITED = -1
OTHER_PARTITIONS = (
    "A topic cannot have fewer partitions again: create one with as many as there were, and let the program read that "
    "one instead"
)
"""What to do about an input that has got more partitions than the state of an application."""


class _Problem(NamedTuple):
    """A setting of a topic, why it will not do, and what it should be."""

    text: str
    setting: str
    value: str


def check_existing(
    planned: Iterable[PlannedTopic],
    there: Mapping[str, int],
    configs: Mapping[str, Mapping[str, str]],
    *,
    changed: Mapping[str, str] | None = None,
    address: str,
) -> None:
    """Refuse topics that exist with another number of partitions or with settings that lose records.

    ``changed`` says what is new about a store, by its name: then that is what stands in the way, and not the topic.
    """
    topics = [topic for topic in planned if topic.exists]
    _check_counts({topic: there[topic.name] for topic in topics}, address)
    found = {topic: problems for topic in topics if (problems := list(_problems(topic, configs.get(topic.name, {}))))}
    if found:
        detail = "; ".join(f"{topic.name}: {', '.join(each.text for each in found[topic])}" for topic in found)
        raise InternalTopicError(_headline(found, changed or {}), detail=detail, hint=_remedy(found, address))


def _headline(found: Iterable[PlannedTopic], changed: Mapping[str, str]) -> str:
    for topic in found:
        if topic.store is not None and topic.store in changed:
            return f"the store {topic.store} has changed, and its changelog does not follow: {changed[topic.store]}"
    return f"internal topics have settings that lose records: {', '.join(topic.name for topic in found)}"


def _remedy(found: Mapping[PlannedTopic, Iterable[_Problem]], address: str) -> str:
    commands = "; ".join(
        command(
            " ".join(["topics alter", topic.name, *(f"--config {each.setting}={each.value}" for each in problems)]),
            address,
        )
        for topic, problems in found.items()
    )
    return (
        f"Change the settings of the topics, then start again: {commands}. "
        f"What is gone already stays gone; to start over: {reset(address)}"
    )


def _check_counts(counts: Mapping[PlannedTopic, int], address: str) -> None:
    wrong = {topic: count for topic, count in counts.items() if count != topic.partitions}
    if not wrong:
        return
    names = ", ".join(topic.name for topic in wrong)
    message = f"internal topics have the wrong number of partitions: {names}"
    needed = (f"{topic.name} has {count} partitions, {topic.partitions} are needed" for topic, count in wrong.items())
    hint = f"{OTHER_PARTITIONS}. Or start over, from the beginning of the input: {reset(address)}"
    raise InternalTopicError(message, detail="; ".join(needed), hint=hint)


def _problems(topic: PlannedTopic, found: Mapping[str, str]) -> Iterator[_Problem]:
    if "cleanup.policy" in found:
        yield from _policy_problems(topic, found)
    setting = "min.compaction.lag.ms"
    lag, needed = _number(found, setting), _number(topic.config, setting)
    if lag is not None and needed is not None and lag < needed:
        yield _Problem(f"{setting} is {lag}, it must be at least {needed}", setting, str(needed))


def _policy_problems(topic: PlannedTopic, found: Mapping[str, str]) -> Iterator[_Problem]:
    policy, planned = _policy(found), _policy(topic.config)
    if "compact" in policy and topic.kind == "repartition":
        yield _Problem("cleanup.policy must not contain compact", "cleanup.policy", "delete")
    if "delete" not in policy:
        return
    if "delete" not in planned:
        yield _Problem("cleanup.policy must not contain delete", "cleanup.policy", "compact")
        return
    kept, needed = _number(found, "retention.ms"), _number(topic.config, "retention.ms")
    if kept is not None and needed is not None and _is_shorter(kept, needed):
        text = f"retention.ms is {kept}, it must be {'-1' if needed == _UNLIMITED else f'at least {needed}'}"
        yield _Problem(text, "retention.ms", str(needed))
    size, allowed = _number(found, "retention.bytes"), _number(topic.config, "retention.bytes")
    if size is not None and size != _UNLIMITED and size != allowed:
        yield _Problem(f"retention.bytes is {size}, it must not be set", "retention.bytes", str(_UNLIMITED))


def _policy(config: Mapping[str, str]) -> set[str]:
    return {part.strip() for part in config.get("cleanup.policy", "").split(",")}


def _is_shorter(kept: int, needed: int) -> bool:
    return kept != _UNLIMITED and (needed == _UNLIMITED or kept < needed)


def _number(config: Mapping[str, str], name: str) -> int | None:
    value = config.get(name)
    return None if value is None else int(value)
