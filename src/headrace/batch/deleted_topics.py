"""Topics that are deleted under an application: an error names them, nobody makes them again unasked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from headrace.batch.fingerprint import Fingerprint
from headrace.batch.progress import Progress
from headrace.errors import InternalTopicError, MissingOutputTopicError, MissingSourceTopicError

if TYPE_CHECKING:
    from headrace.batch.application import Application
    from headrace.batch.topics import TopicPlan
    from headrace.broker.port import Committed


def check_topics(application: Application, there: Mapping[str, int]) -> None:
    """Refuse to go on where a topic that the application writes to, or a global one that it reads, is gone."""
    gone = [topic for topic in application.outputs if topic not in there]
    if gone:
        raise deleted_outputs(application, gone)
    gone = [topic for topic in application.topics.global_topics if topic not in there]
    if gone:
        raise deleted_sources(gone)


def check_changelogs(plan: TopicPlan, last: Committed | None, application: str) -> None:
    """Refuse to start where the changelog of a store that was there before is gone: it would go on half empty."""
    fingerprint = None if last is None else Progress(last).fingerprint
    if fingerprint is None:
        return
    before = {store.changelog for store in Fingerprint.from_json(fingerprint).stores if store.partitions}
    gone = [topic.name for topic in plan.missing if topic.name in before]
    if gone:
        message = f"changelogs were deleted since the application ran last: {', '.join(gone)}"
        raise InternalTopicError(message, hint=_restore_hint(gone[0], application))


def deleted_outputs(application: Application, topics: Iterable[str]) -> MissingOutputTopicError:
    """The error for topics that the application writes to."""
    gone = sorted(topics)
    first = gone[0]
    changelogs = [topic.name for topic in application.topics.internal if topic.name in gone]
    if changelogs:
        hint = _restore_hint(changelogs[0], application.id)
    else:
        hint = (
            "Create it again with the partitions it had, then start again: "
            f"headrace topics create {first} --partitions {application.outputs[first]}"
        )
    detail = "They are not made again unasked: with other partitions keys would be found elsewhere."
    return MissingOutputTopicError(_message(gone), detail=detail, hint=hint)


def deleted_sources(topics: Iterable[str]) -> MissingSourceTopicError:
    """The error for topics that the application reads."""
    gone = sorted(topics)
    hint = f"Create it again, then start again: headrace topics create {gone[0]} --partitions N."
    detail = "They are not there, or were made again with fewer partitions than they had."
    return MissingSourceTopicError(_message(gone), detail=detail, hint=hint)


def _restore_hint(changelog: str, application: str) -> str:
    return (
        f"{changelog} held what its store is restored from: bring it back from a backup, or start over: "
        f"headrace reset app.py ({application})."
    )


def _message(topics: list[str]) -> str:
    return f"topics were deleted while the application runs: {', '.join(topics)}"
