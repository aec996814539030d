"""ASSERT: a topic or a schema is there, or comes to be there in time."""

from __future__ import annotations

import time
from collections.abc import Callable

from headrace.errors import SerializationError
from headrace.serde.registry import SchemaRegistry
from headrace.sql.engine.knowledge import Knowledge
from headrace.sql.errors import SqlError
from headrace.sql.tree.expressions import NullLiteral
from headrace.sql.tree.statements import AssertSchema, AssertTopic

_DEFAULT_MS = 1000
_PAUSE_SECONDS = 0.05


def asserted(statement: AssertTopic | AssertSchema, known: Knowledge) -> str:
    """Wait until it is so, and say it; an error where it is not in time."""
    wait_ms = _DEFAULT_MS if statement.timeout is None else statement.timeout.ms
    is_so = _topic(statement, known) if isinstance(statement, AssertTopic) else _schema(statement, known)
    what = _subject(statement)
    end = time.monotonic() + wait_ms / 1000
    while True:
        wrong = is_so()
        if wrong is None:
            return f"{what} {'exists' if statement.exists else 'does not exist'}"
        if time.monotonic() >= end:
            raise SqlError("assert.failed", f"{what}: {wrong}")
        time.sleep(min(_PAUSE_SECONDS, max(0.0, end - time.monotonic())))


def _subject(statement: AssertTopic | AssertSchema) -> str:
    if isinstance(statement, AssertTopic):
        return f"the topic {statement.topic}"
    said = [f"subject {statement.subject}"] if statement.subject is not None else []
    said += [f"id {_whole(statement)}"] if statement.id is not None else []
    return f"the schema with {' and '.join(said)}"


def _whole(statement: AssertSchema) -> int:
    found = None if statement.id is None or isinstance(statement.id, NullLiteral) else statement.id.value
    if not isinstance(found, int) or isinstance(found, bool):
        at = None if statement.id is None else statement.id.at
        raise SqlError("assert.value", "the ID of a schema is a whole number", offset=at)
    return found


def _topic(statement: AssertTopic, known: Knowledge) -> Callable[[], str | None]:
    wanted = {name.upper(): getattr(value, "value", None) for name, value in statement.properties}
    unknown = set(wanted) - {"PARTITIONS", "REPLICAS"}
    if unknown:
        raise SqlError("assert.value", f"there is no property {min(unknown)} of a topic: PARTITIONS and REPLICAS are")

    def wrong() -> str | None:
        partitions = known.topics.partitions(statement.topic)
        if not statement.exists:
            return None if partitions is None else "it exists"
        if partitions is None:
            return "it does not exist"
        count = wanted.get("PARTITIONS")
        return None if count in (None, partitions) else f"it has {partitions} partitions, not {count}"

    return wrong


def _schema(statement: AssertSchema, known: Knowledge) -> Callable[[], str | None]:
    registry = known.registry
    if registry is None:
        raise SqlError("format.registry", "there is no schema registry", hint="Set ksql.schema.registry.url.")

    def wrong() -> str | None:
        is_there = _is_there(statement, registry)
        if is_there is statement.exists:
            return None
        return "it exists" if is_there else "it does not exist"

    return wrong


def _is_there(statement: AssertSchema, registry: SchemaRegistry) -> bool:
    try:
        found = None if statement.id is None else registry.schema_by_id(_whole(statement))
        if statement.subject is None:
            return found is not None
        if found is not None:
            registry.lookup(statement.subject, found)
            return True
        return registry.latest(statement.subject) is not None
    except SerializationError:
        return False
