"""The one timestamp that librdkafka cannot write."""

from __future__ import annotations

import logging

_logger = logging.getLogger(__name__)
_EARLIEST = 1
_told: set[str] = set()


def written_timestamp(timestamp: int) -> int:
    """What a record with that timestamp is written with: itself, but for 0, which librdkafka takes for "now".

    The first millisecond of 1970 becomes the second one: the nearest time that there is. It is told once.

    >>> written_timestamp(1000), written_timestamp(0)
    (1000, 1)
    """
    if timestamp != 0:
        return timestamp
    if not _told:
        _told.add("0")
        _logger.warning("librdkafka cannot write the timestamp 0: records that have it are written with 1")
    return _EARLIEST
