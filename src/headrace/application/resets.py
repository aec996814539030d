"""Where to read a partition from when nothing is committed for it, or when what is committed is gone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any

from headrace.durations import to_ms
from headrace.errors import ConfigError

if TYPE_CHECKING:
    from headrace.config import StreamsConfig

_BY_DURATION = "by_duration:"
_DURATION = re.compile(
    r"P(?=.)(?:(?P<days>\d+)D)?(?:T(?=.)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?",
    re.IGNORECASE,
)


class Reset(Enum):
    """The ways to find a position."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"
    BY_DURATION = "by_duration"


@dataclass(frozen=True, slots=True)
class ResetPolicy:
    """What the user asked for, or (``is_default``) what is done because nothing was asked for."""

    reset: Reset
    duration_ms: int = 0
    """How far back from now to start, with ``BY_DURATION``."""
    is_default: bool = False

    def __str__(self) -> str:
        return f"{_BY_DURATION}{self.duration_ms} ms" if self.reset is Reset.BY_DURATION else self.reset.value


DEFAULT = ResetPolicy(Reset.EARLIEST, is_default=True)
"""Start at the beginning; but where records that should have been read are gone, stop with an error."""


def reset_policy(source: Any, config: StreamsConfig) -> ResetPolicy:
    """The policy of a source: its own ``offset_reset``, else ``consumer.auto.offset.reset``, else the default."""
    if source is not None:
        return parse_reset(source, "offset_reset")
    given = config.of_main_consumer("auto.offset.reset")
    return DEFAULT if given is None else parse_reset(given[1], given[0])


def parse_reset(given: Any, name: str) -> ResetPolicy:
    """A policy as users write it.

    >>> parse_reset("by_duration:PT1H", "offset_reset").duration_ms
    3600000
    """
    if isinstance(given, timedelta):
        return ResetPolicy(Reset.BY_DURATION, _not_negative(given, name))
    text = str(given).strip().lower()
    if text in {"earliest", "latest", "none"}:
        return ResetPolicy(Reset(text))
    found = _DURATION.fullmatch(text.removeprefix(_BY_DURATION))
    if found is None:
        message = f"{name} is {given!r}, which is no offset reset"
        raise ConfigError(message, hint="Use earliest, latest, none, or by_duration:PT1H to start an hour back.")
    parts = {unit: float(number) for unit, number in found.groupdict().items() if number is not None}
    return ResetPolicy(Reset.BY_DURATION, to_ms(timedelta(**parts), name))


def _not_negative(duration: timedelta, name: str) -> int:
    if duration < timedelta(0):
        message = f"{name} is negative: {duration}"
        raise ConfigError(message, hint="Give the time to look back from now.")
    return to_ms(duration, name)
