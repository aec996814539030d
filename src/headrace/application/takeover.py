"""Whether a program can go on with the state that an earlier version of it left, and what becomes of that state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.application.compatibility import Upgrade, compare
from headrace.application.deleted_topics import check_changelogs
from headrace.application.existing_topics import check_existing
from headrace.application.fingerprint import Fingerprint, fingerprint
from headrace.application.kafka_streams import has_gone_on, taken_over
from headrace.application.layout import Application, make_topics
from headrace.application.placement import placement_changes
from headrace.application.progress import Progress, TaskProgress
from headrace.application.task_id import TaskId
from headrace.application.upgrading import Step
from headrace.state.version import Version

if TYPE_CHECKING:
    from headrace.broker.port import Log


@dataclass(frozen=True)
class Takeover:
    """An application whose topics are there, and what its tasks start from; to be noted before they do."""

    application: Application
    upgrade: Upgrade
    tasks: Mapping[TaskId, TaskProgress]
    is_from_kafka_streams: bool = False
    """Kafka Streams ran it last."""


def take_over(application: Application, progress: Progress, log: Log, epoch: int) -> Takeover:
    """Refuse a topology that cannot go on with the state there is; else make that state its own."""
    now, tasks = fingerprint(application.topology, application.topics), progress.tasks
    old = None if progress.fingerprint is None else Fingerprint.from_json(progress.fingerprint)
    upgrade = Upgrade(()) if old is None else compare(old, now)
    upgrade.check(application.id, application.address)
    # Topics that do not fit follow from such changes: what was changed is told first.
    _check_internal_topics(application, log, upgrade)
    is_foreign = has_gone_on(application, progress, log)
    check_changelogs(application, progress, log, is_taken_over=is_foreign)
    if old is not None:
        now = now.after(old)
        if now != old:
            # Asked last: it reads changelogs, which fit only where nothing else is in the way.
            placed = Upgrade(tuple(placement_changes(log, old, now)))
            placed.check(application.id, application.address)
            step = Step(old, now, upgrade, Version(progress.batch_id + 1, 0, epoch))
            tasks = step.notes(tasks, application.topics.task_ids())
    application = make_topics(application, log, has_run=old is not None)
    if is_foreign:
        tasks = taken_over(application, log, Version(progress.batch_id + 1, 0, epoch))
    progress.fingerprint = now.to_json()
    progress.changelogs = log.topic_ids(application.topics.changelogs)
    return Takeover(application, upgrade, tasks, is_foreign)


def _check_internal_topics(application: Application, log: Log, upgrade: Upgrade) -> None:
    there, internal = log.topics(), application.topics.internal
    configs = {topic.name: log.describe_topic(topic.name).config for topic in internal if topic.exists}
    check_existing(internal, there, configs, changed=upgrade.differences, address=application.address)


def has_memory(progress: Progress) -> bool:
    """Whether a task has stores in memory."""
    stores = () if progress.fingerprint is None else Fingerprint.from_json(progress.fingerprint).stores
    return any(store.subtopology is not None and not store.persistent for store in stores)
