"""Topics that are deleted while an application uses them: an error names them, and they are not created again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from headrace.application.fingerprint import Fingerprint
from headrace.application.progress import Progress
from headrace.commands import command, reset
from headrace.errors import InternalTopicError, MissingOutputTopicError, MissingSourceTopicError

if TYPE_CHECKING:
    from headrace.application.layout import Application
    from headrace.broker.port import Log


def check_topics(application: Application, there: Mapping[str, int]) -> None:
    """Refuse to go on where a topic that the application writes to, or a global one that it reads, is gone."""
    gone = [topic for topic in application.outputs if topic not in there]
    if gone:
        raise deleted_outputs(application, gone)
    gone = [topic for topic in application.topics.global_topics if topic not in there]
    if gone:
        raise deleted_sources(application, gone)


def check_changelogs(application: Application, progress: Progress, broker: Log, *, is_taken_over: bool = False) -> None:
    """Refuse to start where changelogs are not those that the application wrote.

    Copies of its stores on disk would hide for a while that they are gone. Of an application that ``is_taken_over``
    Kafka Streams wrote them.
    """
    if progress.fingerprint is None:
        if not is_taken_over:
            _check_empty(application, broker)
        return
    before = {store.changelog for store in Fingerprint.from_json(progress.fingerprint).stores if store.partitions}
    used = before.intersection(application.topics.changelogs)
    gone = [topic for topic in deleted_changelogs(progress, broker) if topic in used]
    if gone:
        raise not_its_changelogs(application, gone)


def deleted_changelogs(progress: Progress, broker: Log) -> list[str]:
    """The changelogs that are gone, or are there again: what is in those now the application never wrote."""
    ids = broker.topic_ids(progress.changelogs)
    return [topic for topic, known in progress.changelogs.items() if ids.get(topic) != known]


def not_its_changelogs(application: Application, topics: Iterable[str]) -> InternalTopicError:
    gone = sorted(topics)
    message = f"changelogs were deleted since the application wrote them: {', '.join(gone)}"
    return InternalTopicError(message, hint=_restore_hint(gone[0], application))


def _check_empty(application: Application, broker: Log) -> None:
    counts = broker.topics()
    partitions = [(topic, number) for topic in application.topics.changelogs for number in range(counts.get(topic, 0))]
    filled = sorted({topic for (topic, _), end in broker.end_offsets(partitions).items() if end})
    if filled:
        name = application.id
        message = f"{name!r} has committed nothing, but there are records in its changelogs: {', '.join(filled)}"
        hint = f"Use another application.id; or a reset did not come to its end: {reset(application.address)}"
        raise InternalTopicError(message, detail="Its stores would hold what it never counted.", hint=hint)


def deleted_outputs(application: Application, topics: Iterable[str]) -> MissingOutputTopicError:
    gone = sorted(topics)
    first = gone[0]
    changelogs = [topic.name for topic in application.topics.internal if topic.name in gone]
    if changelogs:
        hint = _restore_hint(changelogs[0], application)
    else:
        create = command(f"topics create {first} --partitions {application.outputs[first]}", application.address)
        hint = f"Create it again with the partitions it had, then start again: {create}"
    detail = "They are not created again by themselves: with other partitions keys would be looked for elsewhere."
    return MissingOutputTopicError(_message(gone), detail=detail, hint=hint)


def deleted_sources(application: Application, topics: Iterable[str]) -> MissingSourceTopicError:
    gone = sorted(topics)
    create = command(f"topics create {gone[0]} --partitions N", application.address)
    hint = f"Create it again, then start again: {create}"
    detail = "They are not there, or were made again with fewer partitions than they had."
    return MissingSourceTopicError(_message(gone), detail=detail, hint=hint)


def _restore_hint(changelog: str, application: Application) -> str:
    return (
        f"{changelog} held what its store is restored from: bring it back from a backup, or start over: "
        f"{reset(application.address)}"
    )


def _message(topics: list[str]) -> str:
    return f"topics were deleted while the application runs: {', '.join(topics)}"
