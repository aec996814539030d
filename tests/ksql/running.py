"""One case from beginning to end: its statements, its records, and what must be there afterwards."""

from __future__ import annotations

import base64
import traceback
from collections.abc import Iterable
from typing import Any

from headrace.records import NO_HEADERS, Headers
from headrace.serde.registry import InMemorySchemaRegistry, SchemaRegistry
from headrace.sql import SqlError, parse
from headrace.sql.catalog.sources import Source
from headrace.sql.engine.engine import SqlEngine
from headrace.sql.engine.ports import NewRecord
from headrace.sql.engine.session import Session
from headrace.sql.functions.registry import Registry
from headrace.sql.tree.statements import Parsed
from tests.ksql import posts
from tests.ksql.cases import Case
from tests.ksql.declaring import declared_partitions, said_partitions
from tests.ksql.errors import RUNNING, ErrorRules
from tests.ksql.feeding import Feeding
from tests.ksql.json_text import json_text
from tests.ksql.matching import matches
from tests.ksql.memory import CollectedQueries, MemoryTopics
from tests.ksql.outcomes import PASSED, Kind, Outcome
from tests.ksql.registered import declared_registry
from tests.ksql.wire import Window, Wire

SETTINGS = {
    "ksql.service.id": "some.ksql.service.id",
    "ksql.headers.columns.enabled": "true",
    "auto.offset.reset": "earliest",
}


class CaseRun:
    """A case that is run once."""

    earliest_ms = 0
    """The first time that a record can have where the case runs: earlier ones become it."""

    def __init__(self, case: Case, functions: Registry, rules: ErrorRules) -> None:
        self.case = case
        self._rules = rules
        self.registry: SchemaRegistry = InMemorySchemaRegistry()
        self.topics = MemoryTopics()
        self.queries = CollectedQueries()
        self.engine = SqlEngine(
            self.topics, self.queries, functions=functions, registry=self.registry, settings=SETTINGS
        )

    def outcome(self) -> Outcome:
        """How the case ends; what nobody expected is a crash."""
        expected = self.case.expected_error
        try:
            failed = self._execute()
            if failed is None:
                self._feed()
        except SqlError as error:
            failed = error
        except Exception as error:
            if expected is not None and self._rules.expected(expected) == RUNNING:
                return self._rules.compared(expected, error)
            return Outcome(Kind.CRASHED, (), (traceback.format_exc(),))
        if failed is not None:
            if expected is not None:
                return self._rules.compared(expected, failed)
            return Outcome(Kind.WRONG_ERROR, ("no error",), (f"{failed.code}: {failed}",))
        if expected is not None:
            return Outcome(Kind.NOT_RAISED, (str(expected.get("message")),), ("no error",))
        return self._checked()

    def _execute(self) -> SqlError | None:
        """The error of the last statement; one of an earlier statement is none that a case expects."""
        try:
            statements = parse(self.case.text)
        except SqlError as error:
            return error
        self.topics.counts = dict(declared_partitions(self.case, statements)) | dict(said_partitions(statements))
        self.registry = self.engine.registry = self.declared_registry(statements)
        for parsed in statements:
            try:
                self.engine.run(parsed, Session(dict(self.case.properties)))
            except SqlError as error:
                if parsed is statements[-1]:
                    return error
                raise
        return None

    def declared_registry(self, statements: list[Parsed]) -> SchemaRegistry:
        """The registry before the first statement."""
        return declared_registry(self.case, statements)

    # Records

    def _feed(self) -> None:
        self._put_inputs()
        feeding = self.feeding()
        for query in self.queries.started.values():
            feeding.run(query)
        self.internal_topics, self.inside = feeding.internal_topics, feeding.inside

    def feeding(self) -> Feeding:
        """What runs the queries."""
        return Feeding(self.case, self.topics, self.engine, self.registry)

    def _put_inputs(self) -> None:
        for record in self.case.node["inputs"]:
            wire = self._wire(record["topic"])
            key = wire.write_key(record.get("key"), record.get("window"))
            value = wire.value.write(record.get("value"))
            made = NewRecord(key, value, record.get("timestamp") or 0, _headers(record.get("headers")))
            self.topics.append(record["topic"], made)

    def _wire(self, topic: str) -> Wire:
        source = self._source_of(topic)
        exact = str(self.case.properties.get("use.exact.numeric.comparison", True)).lower() == "true"
        return Wire.of(source, self.registry, exact=exact)

    def _source_of(self, topic: str) -> Source:
        found = [source for source in self.engine.catalog.sources.values() if source.topic == topic]
        if not found:
            message = f"no source has the topic {topic}"
            raise LookupError(message)
        return found[0]

    # What must be there

    def _checked(self) -> Outcome:
        topics: dict[str, list[dict[str, Any]]] = {}
        for record in self.case.node["outputs"]:
            topics.setdefault(record["topic"], []).append(record)
        for topic, expected in topics.items():
            outcome = self._compared(topic, expected)
            if not outcome.passed:
                return outcome
        return self.afterwards()

    def afterwards(self) -> Outcome:
        """Whether what the case says about sources and topics holds in the end."""
        return posts.compared(self)

    def _compared(self, topic: str, expected: list[dict[str, Any]]) -> Outcome:
        wire = self._wire(topic)
        found = [FoundRecord(record, wire) for record in self.topics.records.get(topic, ())]
        expected = [self._as_stored(record) for record in expected]
        right = len(found) == len(expected) and all(
            each.matches(record) for each, record in zip(found, expected, strict=True)
        )
        if right:
            return PASSED
        shown = [_same_text(record, found[at] if at < len(found) else None) for at, record in enumerate(expected)]
        return Outcome(Kind.WRONG_OUTPUT, tuple(shown), tuple(map(str, found)))

    def _as_stored(self, expected: dict[str, Any]) -> dict[str, Any]:
        """What is expected, with the time that it gets here. Where rows are only inserted any time is right."""
        time = expected.get("timestamp")
        if time is None:
            return expected
        is_any = time == 0 and not self.case.node["inputs"]
        return {**expected, "timestamp": None if is_any else max(time, self.earliest_ms)}


class FoundRecord:
    """A record that was written."""

    def __init__(self, record: NewRecord, wire: Wire) -> None:
        self.record = record
        self.key, self.window = wire.read_key(record.key)
        self.value = wire.value.read(record.value)

    def matches(self, expected: dict[str, Any]) -> bool:
        """Key and window, value, headers, and the timestamp if one is expected."""
        time = expected.get("timestamp")
        return (
            _matches_window(expected.get("window"), self.window)
            and matches(expected.get("key"), self.key)
            and matches(expected.get("value"), self.value)
            and _headers(expected.get("headers")) == self.record.headers
            and (time is None or time == self.record.timestamp)
        )

    def __str__(self) -> str:
        window = None if self.window is None else {"start": self.window.start, "end": self.window.end}
        return _shown(self.key, window, self.value, self.record.timestamp, self.record.headers)


def _same_text(expected: dict[str, Any], found: FoundRecord | None) -> str:
    """The expected record as text; as that of the found one if both are the same."""
    if found is not None and found.matches(expected):
        return str(found)
    window = expected.get("window") and {name: expected["window"][name] for name in ("start", "end")}
    time = expected.get("timestamp")
    return _shown(expected.get("key"), window, expected.get("value"), time, _headers(expected.get("headers")))


def _shown(key: Any, window: Any, value: Any, timestamp: int | None, headers: Iterable[Any]) -> str:
    parts = [_text(key), "" if window is None else f"@{window['start']}/{window['end']}", " ", _text(value)]
    parts += ["" if timestamp is None else f" t={timestamp}", f" {list(headers)}" if headers else ""]
    return "".join(parts)


def _text(value: Any) -> str:
    try:
        return json_text(value)
    except TypeError:
        return repr(value)


def _matches_window(expected: dict[str, Any] | None, found: Window | None) -> bool:
    if expected is None or found is None:
        return expected is None and found is None
    return (expected["start"], expected["end"], expected["type"].upper()) == (found.start, found.end, found.kind)


def _headers(said: list[dict[str, Any]] | None) -> Headers:
    if not said:
        return NO_HEADERS
    return Headers((each["KEY"], None if each["VALUE"] is None else base64.b64decode(each["VALUE"])) for each in said)
