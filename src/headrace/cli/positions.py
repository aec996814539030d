"""Places in a topic, as one says them: beginning, end, an offset, the last N records, a time."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from headrace.broker.positions import TopicPosition
from headrace.cli.exits import UsageError
from headrace.clock import now_ms
from headrace.windows import MAX_TIMESTAMP

GRAMMAR = "beginning, end, OFFSET, -N for the last N of each partition, @TIME (milliseconds, ISO 8601, or -15m)"

_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGO = re.compile(r"-(\d+)(ms|s|m|h|d)")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MAX_OFFSET = 2**63 - 1


def position_of(text: str) -> TopicPosition:
    """The place that ``text`` names; see ``GRAMMAR``.

    >>> position_of("-5"), position_of("@1700000000000")
    (TopicPosition(kind='last', value=5), TopicPosition(kind='time', value=1700000000000))
    """
    if text in {"beginning", "earliest"}:
        return TopicPosition("beginning")
    if text in {"end", "latest"}:
        return TopicPosition("end")
    if re.fullmatch(r"-?\d{1,19}", text, re.ASCII) and abs(int(text)) <= _MAX_OFFSET:
        number = int(text)
        return (
            TopicPosition("offset", number)
            if number >= 0 and not text.startswith("-")
            else TopicPosition("last", -number)
        )
    if text.startswith(("@", "s@")):
        return TopicPosition("time", time_of(text.partition("@")[2]))
    if _DATE.match(text):
        return TopicPosition("time", time_of(text))
    message = f"{text!r} is no position"
    raise UsageError(message, hint=f"Say one of: {GRAMMAR}.")


def time_of(text: str) -> int:
    """Milliseconds since 1970 of a number, a date (UTC where it has no zone), or a while ago such as ``-15m``.

    >>> time_of("1970-01-01T00:00:01Z")
    1000
    """
    if re.fullmatch(r"\d{1,19}", text, re.ASCII) and int(text) <= MAX_TIMESTAMP:
        return int(text)
    ago = _AGO.fullmatch(text)
    if ago:
        return max(0, now_ms() - int(ago[1]) * _UNIT_MS[ago[2]])
    try:
        moment = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
    except ValueError as error:
        message = f"{text!r} is no time"
        hint = "Say milliseconds since 1970, a date such as 2026-07-01T12:00:00Z, or a while ago such as -15m."
        raise UsageError(message, hint=hint) from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return round(moment.timestamp() * 1000)
