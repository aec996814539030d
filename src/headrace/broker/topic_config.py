"""The settings of a topic: Kafka's names and defaults, checked when a topic is made or altered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headrace.errors import ArgumentError, ConfigError
from headrace.near_names import did_you_mean

_DAY_MS = 24 * 60 * 60 * 1000
_MAX_LONG = 2**63 - 1
_POLICIES = {"delete", "compact"}

DEFAULTS: Mapping[str, str] = {
    "cleanup.policy": "delete",
    "retention.ms": str(7 * _DAY_MS),
    "retention.bytes": "-1",
    "segment.bytes": str(64 * 1024 * 1024),
    "delete.retention.ms": str(_DAY_MS),
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": str(_MAX_LONG),
    "min.cleanable.dirty.ratio": "0.5",
    "max.message.bytes": str(1024 * 1024 + 12),
    "message.timestamp.type": "CreateTime",
    "headrace.retention.unread": "keep",
}
"""The settings of a topic unless others are given: Kafka's, except segment.bytes, up to which segments are merged.

headrace.retention.unread is our own: ``keep`` lets retention wait for every group that has yet to read a record,
``delete`` does as Kafka does.
"""

ACCEPTED = frozenset(
    {
        "segment.ms",
        "segment.jitter.ms",
        "segment.index.bytes",
        "index.interval.bytes",
        "file.delete.delay.ms",
        "flush.messages",
        "flush.ms",
        "compression.type",
        "preallocate",
        "min.insync.replicas",
        "unclean.leader.election.enable",
        "message.timestamp.before.max.ms",
        "message.timestamp.after.max.ms",
        "message.timestamp.difference.max.ms",
        "message.format.version",
        "message.downconversion.enable",
    }
)
"""Settings of Kafka that are kept and shown but mean nothing to the embedded broker."""


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """The settings that the embedded broker acts on, in their own types."""

    compact: bool
    delete: bool
    retention_ms: int
    retention_bytes: int
    keep_unread: bool
    segment_bytes: int
    delete_retention_ms: int
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    min_cleanable_dirty_ratio: float
    max_message_bytes: int

    @staticmethod
    def of(given: Mapping[str, str]) -> TopicConfig:
        """The settings in ``given``, and the defaults of the others."""
        values = {**DEFAULTS, **given}
        policy = {part.strip() for part in values["cleanup.policy"].split(",")}
        return TopicConfig(
            compact="compact" in policy,
            delete="delete" in policy,
            retention_ms=int(values["retention.ms"]),
            retention_bytes=int(values["retention.bytes"]),
            keep_unread=values["headrace.retention.unread"] == "keep",
            segment_bytes=int(values["segment.bytes"]),
            delete_retention_ms=int(values["delete.retention.ms"]),
            min_compaction_lag_ms=int(values["min.compaction.lag.ms"]),
            max_compaction_lag_ms=int(values["max.compaction.lag.ms"]),
            min_cleanable_dirty_ratio=float(values["min.cleanable.dirty.ratio"]),
            max_message_bytes=int(values["max.message.bytes"]),
        )


def checked(given: Mapping[str, Any] | None) -> dict[str, str]:
    """``given`` as text, each setting known and in its range; a ConfigError otherwise.

    >>> checked({"cleanup.policy": "compact", "retention.ms": 1000})
    {'cleanup.policy': 'compact', 'retention.ms': '1000'}
    """
    settings = {str(name): str(value) for name, value in (given or {}).items()}
    for name, value in settings.items():
        if name in _CHECKS:
            _check(name, value)
        elif name not in ACCEPTED:
            raise _unknown(name)
    return settings


def _check(name: str, value: str) -> None:
    check, expected = _CHECKS[name]
    try:
        good = check(value)
    except ValueError:
        good = False
    if not good:
        message = f"the topic setting {name} must be {expected}, found {value!r}"
        raise ConfigError(message)


def _unknown(name: str) -> ConfigError:
    message = f"unknown topic setting {name!r}"
    near = did_you_mean(name.replace("_", "."), [*DEFAULTS, *ACCEPTED], cutoff=0.5, shown=str)
    return ConfigError(message, hint=near or "Topics have Kafka's settings.")


def _at_least(least: int, most: int = _MAX_LONG) -> tuple[Callable[[str], bool], str]:
    return lambda text: least <= int(text) <= most, f"a whole number, {least} or more"


_CHECKS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "cleanup.policy": (
        lambda text: {part.strip() for part in text.split(",")} <= _POLICIES,
        "'delete', 'compact' or 'compact,delete'",
    ),
    "retention.ms": _at_least(-1),
    "retention.bytes": _at_least(-1),
    "segment.bytes": _at_least(14),
    "delete.retention.ms": _at_least(0),
    "min.compaction.lag.ms": _at_least(0),
    "max.compaction.lag.ms": _at_least(1),
    "min.cleanable.dirty.ratio": (lambda text: 0 <= float(text) <= 1, "a number from 0 to 1"),
    "max.message.bytes": _at_least(0, 2**31 - 1),
    # A segment is written before its commit is known, so that the broker cannot put its own time into it.
    "message.timestamp.type": (lambda text: text == "CreateTime", "'CreateTime'; the embedded broker has no other"),
    "headrace.retention.unread": (lambda text: text in {"keep", "delete"}, "'keep' or 'delete'"),
}


def check_partitions(topic: str, count: object) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= 100_000:
        message = f"topic {topic} cannot have {count!r} partitions: it takes a whole number, 1 to 100,000"
        raise ArgumentError(message)
    return count
