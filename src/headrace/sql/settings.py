"""The settings of statements: ksqlDB's by their names, those of Kafka Streams and its clients, and the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.config import StreamsConfig, near_setting
from headrace.errors import ArgumentError, ConfigError
from headrace.setting_values import boolean
from headrace.settings import CLIENT_SETTINGS, HANDED_ON, NOT_HERE, SETTINGS
from headrace.sql import setting_names
from headrace.sql.errors import SqlError
from headrace.topology import checks

STREAMS = "ksql.streams."
"""How the names of settings begin that are for the applications of queries."""
OFFSET_RESET = (f"{STREAMS}auto.offset.reset", "auto.offset.reset")
"""Where queries start to read: the first of these that is set."""
_OF_KAFKA = (*SETTINGS, *CLIENT_SETTINGS, *NOT_HERE)
_FLAGS = (
    "ksql.fail.on.deserialization.error",
    "ksql.fail.on.production.error",
    "ksql.persistence.wrap.single.values",
    "ksql.query.pull.limit.clause.enabled",
    "ksql.query.pull.range.scan.enabled",
    "ksql.query.pull.stream.enabled",
    "ksql.query.pull.table.scan.enabled",
    "ksql.timestamp.throw.on.invalid",
)
_OF_KSQL = (
    *_FLAGS,
    "ksql.output.topic.name.prefix",
    "ksql.persistence.default.format.key",
    "ksql.persistence.default.format.value",
    "ksql.persistent.prefix",
    "ksql.schema.registry.url",
    "ksql.service.id",
)
_KNOWN = frozenset((*_OF_KSQL, *_OF_KAFKA, *(STREAMS + name for name in _OF_KAFKA)))
_SETTABLE = _KNOWN | setting_names.KSQL_SETTINGS | setting_names.CLIENT_SETTINGS
"""What SET takes, with or without the prefix of Kafka Streams."""
_ELSEWHERE = (*HANDED_ON, *(STREAMS + prefix for prefix in HANDED_ON), "ksql.schema.registry.")
_OF_FUNCTIONS = "ksql.functions."
"""How settings begin that functions of the user read."""
OF_SOURCES = ("auto.offset.reset", "default.timestamp.extractor")
"""Settings of Kafka Streams that the sources of a query follow, not its application."""
_OF_EACH_QUERY = {
    "application.id": "The application of a query is named after ksql.service.id and the id of the query.",
    "bootstrap.servers": "A database is on one broker: Database(broker), or headrace sql --broker.",
}
"""Settings that nobody but a database gives to its queries, and why."""
_OF_A_DATABASE = ("state.dir", f"{STREAMS}state.dir", "ksql.schema.registry.url", "ksql.service.id")
"""Settings that are fixed when a database is opened."""
_NEARLY_THE_SAME = 0.9
"""ksqlDB has many settings that have no effect here, and they are alike in much."""


def in_force(of_all: Mapping[str, Any], of_session: Mapping[str, Any]) -> dict[str, Any]:
    """Both; what a session has set goes before what is set for all, whichever of them says it with the prefix.

    >>> in_force({"ksql.streams.auto.offset.reset": "earliest"}, {"auto.offset.reset": "latest"})
    {'auto.offset.reset': 'latest'}
    """
    said = {name.removeprefix(STREAMS) for name in of_session}
    return {name: value for name, value in of_all.items() if name.removeprefix(STREAMS) not in said} | dict(of_session)


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse a misspelt name, and a value that no query could start with; a name that is near no other is the user's.

    >>> check_settings({"auto.offset.reset": "earliest", "ksql.heartbeat.enable": "true", "mine": 1})
    """
    for name, value in settings.items():
        if name in OFFSET_RESET:
            _check_offset_reset(name, value)
        elif name in _FLAGS:
            boolean(name, value)
        elif name not in _KNOWN and not str(name).startswith(_ELSEWHERE):
            _check_own(name)
        else:
            _check_value(name, value)


def check_set_by_statement(name: str, value: str) -> None:
    """Refuse by an SqlError what SET and ALTER SYSTEM cannot set, as ksqlDB does what it does not know."""
    try:
        _check_settable(name)
        check_settings({name: value})
    except ConfigError as error:
        raise SqlError("session.setting", error.message, detail=error.detail, hint=error.hint) from None


def _check_settable(name: str) -> None:
    if name in _OF_A_DATABASE:
        message = f"{name} is fixed when a database is opened"
        hint = f'Give it there: Database(settings={{"{name}": ...}}), or headrace sql --set {name}=...'
        raise ConfigError(message, hint=hint)
    if name.removeprefix(STREAMS) not in _SETTABLE and not name.startswith((*_ELSEWHERE, _OF_FUNCTIONS)):
        raise _not_settable(name)


def _not_settable(name: str) -> ConfigError:
    message = f"unknown setting {name!r}"
    bare = name.removeprefix(STREAMS)
    near = near_setting(bare, _SETTABLE)
    if near is not None:
        return ConfigError(message, hint=f"Did you mean {name.removesuffix(bare)}{near}?")
    detail = "it is none of ksqlDB, Kafka Streams or Kafka's clients"
    return ConfigError(message, detail=detail, hint="What statements are to refer to is defined: DEFINE a = 'b'; ${a}")


def _check_value(name: str, value: Any) -> None:
    """As the application of a query would."""
    bare = name.removeprefix(STREAMS)
    if bare in _OF_EACH_QUERY:
        message = f"{name} cannot be set"
        raise ConfigError(message, hint=_OF_EACH_QUERY[bare])
    if (bare != name or bare in SETTINGS) and bare not in OF_SOURCES:
        StreamsConfig({bare: value})


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
