"""Which applications keep state that depends on the partitions of a topic: those could not go on if it got more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.application.fingerprint import Fingerprint
from headrace.application.progress import Progress
from headrace.errors import AuthorizationError, UpgradeError

if TYPE_CHECKING:
    from headrace.broker.port import Broker


def stateful_readers(broker: Broker, topic: str) -> dict[str, list[str]]:
    """The applications of this broker, and of each the stores whose keys are spread as those of ``topic``."""
    found = {application: _stores(broker, application, topic) for application in broker.applications()}
    return {application: stores for application, stores in found.items() if stores}


def growth_warning(broker: Broker, topic: str, partitions: int | None) -> str | None:
    """What becomes of applications if ``topic`` gets so many partitions; None where nothing does."""
    if partitions is None or partitions <= broker.topics().get(topic, partitions):
        return None
    readers = stateful_readers(broker, topic)
    if not readers:
        return None
    whose = "; ".join(f"{application} has {', '.join(stores)}" for application, stores in readers.items())
    return (
        f"there is state that needs the partitions of {topic} as they are ({whose}). Its application stops until "
        "it is reset or reads another topic; partitions cannot be taken away again"
    )


def _stores(broker: Broker, application: str, topic: str) -> list[str]:
    # State of another version of Headrace cannot be read: whoever starts the application is told. Others we may not.
    with suppress(UpgradeError, AuthorizationError):
        known = Progress(broker.last_decided(application)).fingerprint
        if known is None:
            return []
        left = Fingerprint.from_json(known)
        groups = set(_groups(left, topic))
        return [store.name for store in left.stores if store.subtopology in groups]
    return []


def _groups(left: Fingerprint, topic: str) -> Iterator[int]:
    """The sub-topologies that read the topic; if there are any, those behind a repartition follow it as well."""
    if any(topic in group.sources for group in left.subtopologies):
        spread = {topic, *left.repartitions}
        yield from (group.id for group in left.subtopologies if spread.intersection(group.sources))
