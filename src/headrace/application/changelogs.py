"""What a changelog must hold to restore a store from it. Where it does not, the restore stops and tells the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.errors import CorruptLogError, OffsetOutOfRangeError, StoreError

if TYPE_CHECKING:
    from headrace.broker.port import Log, TopicPartition
    from headrace.records import RawRecord

_RESET = "Reset the application, so that it processes its input again, or bring the topic back from a backup."


def check_complete(broker: Log, store: str, partition: TopicPartition, start: int) -> None:
    """Refuse a changelog that lost its beginning: only one that may forget by its settings can begin later."""
    topic, number = partition
    if start > 0 and not _may_forget(broker, topic):
        message = f"the store {store} cannot be restored: {topic}-{number} begins at offset {start}"
        raise StoreError(message, detail=f"The offsets 0 to {start - 1} were deleted.", hint=_RESET)


def changes(
    broker: Log, store: str, partition: TopicPartition, start: int, end: int, *, is_source: bool
) -> Iterator[list[RawRecord]]:
    """The records to replay; each has a key, unless they come from a source topic that serves as changelog.

    What retention removes meanwhile is left out, as it is where it was removed before.
    """
    topic, number = partition
    while start < end:
        try:
            for records in broker.read(topic, number, start, end):
                keyless = next((record[2] for record in records if record[4] is None), None)
                if keyless is not None and not is_source:
                    message = f"the store {store} cannot be restored: {topic}-{number}@{keyless} has no key"
                    raise CorruptLogError(message, detail="Somebody else wrote to the changelog.", hint=_RESET)
                yield records
                start = records[-1][2] + 1
            return
        except OffsetOutOfRangeError as error:
            first = broker.start_offsets([partition])[partition]
            if first <= start or not (is_source or _may_forget(broker, topic)):
                message = f"the store {store} cannot be restored: {error.message}"
                raise StoreError(message, detail=error.detail, hint=_RESET) from error
            start = first


def _may_forget(broker: Log, topic: str) -> bool:
    return "delete" in broker.describe_topic(topic).config["cleanup.policy"]
