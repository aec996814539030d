"""The settings of statements: ksqlDB's by their names, those of Kafka Streams and its clients, and the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.config import near_setting
from headrace.errors import ArgumentError, ConfigError
from headrace.settings import CLIENT_SETTINGS, HANDED_ON, NOT_HERE, SETTINGS
from headrace.topology import checks

_STREAMS = "ksql.streams."
OFFSET_RESET = (f"{_STREAMS}auto.offset.reset", "auto.offset.reset")
"""Where queries start to read: the first of these that is set."""
_OF_KAFKA = (*SETTINGS, *CLIENT_SETTINGS, *NOT_HERE)
_OF_KSQL = (
    "ksql.fail.on.deserialization.error",
    "ksql.fail.on.production.error",
    "ksql.output.topic.name.prefix",
    "ksql.persistence.default.format.key",
    "ksql.persistence.default.format.value",
    "ksql.persistence.prefix",
    "ksql.persistence.wrap.single.values",
    "ksql.query.pull.limit.clause.enabled",
    "ksql.query.pull.range.scan.enabled",
    "ksql.query.pull.stream.enabled",
    "ksql.query.pull.table.scan.enabled",
    "ksql.schema.registry.url",
    "ksql.service.id",
    "ksql.timestamp.throw.on.invalid",
)
_KNOWN = frozenset((*_OF_KSQL, *_OF_KAFKA, *(_STREAMS + name for name in _OF_KAFKA)))
_ELSEWHERE = (*HANDED_ON, *(_STREAMS + prefix for prefix in HANDED_ON), "ksql.schema.registry.")
_NEARLY_THE_SAME = 0.9
"""ksqlDB has many settings that have no effect here, and they are alike in much."""


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse a misspelt name and a place to start from that there is not; a name that is near no other is the user's.

    >>> check_settings({"auto.offset.reset": "earliest", "ksql.heartbeat.enable": "true", "mine": 1})
    """
    for name, value in settings.items():
        if name in OFFSET_RESET:
            _check_offset_reset(name, value)
        elif name not in _KNOWN and not str(name).startswith(_ELSEWHERE):
            _check_own(name)


def _check_own(name: Any) -> None:
    is_of_ksql = str(name).startswith("ksql.")
    near = near_setting(name, _KNOWN, cutoff=_NEARLY_THE_SAME) if is_of_ksql else near_setting(name, _OF_KAFKA)
    if near is not None:
        message = f"unknown setting {name!r}"
        detail = f"if it is your own, it needs a name that is not so near, such as my.{name}"
        raise ConfigError(message, detail=detail, hint=f"Did you mean {near}?")


def _check_offset_reset(name: str, value: Any) -> None:
    try:
        checks.offset_reset(value, None)
    except ArgumentError:
        message = f"{name} is {value!r}, which is no offset reset"
        hint = "Use earliest, latest, none, or a duration back from now, such as by_duration:PT1H."
        raise ConfigError(message, hint=hint) from None
