"""What a case says about sources and topics afterwards: at least this is there."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from headrace.sql.catalog.creating import PARTS
from headrace.sql.catalog.sources import Source, WindowedKeys
from headrace.sql.formats.format_info import SCHEMA_ID, ColumnsFormat
from headrace.sql.schema import Column, Part, Schema
from headrace.sql.text.parser import parse_columns
from tests.ksql.outcomes import PASSED, Kind, Outcome

if TYPE_CHECKING:
    from tests.ksql.running import CaseRun


def compared(run: CaseRun) -> Outcome:
    """Whether what the case says is there."""
    post = run.case.node.get("post") or {}
    sources = [_facts(source) for source in run.engine.catalog.sources.values()]
    for said in post.get("sources") or ():
        expected = _said(said)
        if not any(_contains(found, expected) for found in sources):
            same = [found for found in sources if found["name"] == expected["name"]]
            return Outcome(Kind.WRONG_OUTPUT, (str(expected),), tuple(map(str, same)))
    forbidden = (post.get("topics") or {}).get("blacklist")
    known = set(run.topics.records) | run.internal_topics
    found = sorted(topic for topic in known if forbidden and re.search(forbidden, topic))
    if found:
        return Outcome(Kind.WRONG_OUTPUT, (f"no topic {forbidden}",), tuple(found))
    for said in (post.get("topics") or {}).get("topics") or ():
        outcome = _topic(said, run, known)
        if not outcome.passed:
            return outcome
    return PASSED


def _topic(said: dict[str, Any], run: CaseRun, known: set[str]) -> Outcome:
    """Whether a topic is there, with the formats and the schemas that the case says."""
    name = said["name"]
    expected = {side: _format_said(said[side]) for side in ("keyFormat", "valueFormat")}
    facts = _topic_facts(name, run) if name in known else []
    for side in ("key", "value"):
        if f"{side}Schema" in said:
            expected[f"{side}Schema"] = _schema_said(said[f"{side}Schema"])
            registered = run.registry.latest(f"{name}-{side}")
            text = None if registered is None else registered[1].text
            facts = [{**each, f"{side}Schema": text and _schema_said(text)} for each in facts]
    if expected in facts:
        return PASSED
    return Outcome(Kind.WRONG_OUTPUT, (f"{name}: {expected}",), (f"{name}: {facts}",))


def _topic_facts(name: str, run: CaseRun) -> list[dict[str, Any]]:
    found = [
        {"keyFormat": _format(source.key_format, source.windows), "valueFormat": _format(source.value_format)}
        for source in run.engine.catalog.sources.values()
        if source.topic == name
    ]
    return found + [
        {"keyFormat": _format(each.key, each.windows), "valueFormat": _format(each.value)}
        for application, each in run.inside
        if name.startswith(f"{application}-") and each.matches(name.removeprefix(f"{application}-"))
    ]


def _format(given: ColumnsFormat, windows: WindowedKeys | None = None) -> dict[str, Any]:
    said = {name: value for name, value in given.properties.items() if name != SCHEMA_ID}
    return {
        "format": given.format.name,
        "properties": said,
        "features": _features(given),
        "windows": windows and (windows.kind.value, windows.size_ms),
    }


def _format_said(node: dict[str, Any]) -> dict[str, Any]:
    windows = node.get("windowInfo")
    said = {name: value for name, value in (node.get("properties") or {}).items() if name != SCHEMA_ID}
    size = windows and windows.get("size")
    return {
        "format": node["format"],
        "properties": said,
        "features": sorted(node.get("features") or ()),
        "windows": windows and (windows["type"], None if size is None else round(float(size) * 1000)),
    }


def _schema_said(schema: Any) -> Any:
    """A schema as it is compared: JSON by what it says, protobuf without blanks at its ends."""
    if not isinstance(schema, str):
        return schema
    try:
        return json.loads(schema)
    except ValueError:
        return schema.strip()


def _contains(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    return all(found[name] == value for name, value in expected.items())


def _said(node: dict[str, Any]) -> dict[str, Any]:
    expected: dict[str, Any] = {"name": node["name"]}
    if node.get("type"):
        expected["type"] = node["type"].upper()
    if node.get("schema"):
        expected["schema"] = str(_schema(node["schema"]))
    if node.get("keyFormat"):
        key = node["keyFormat"]
        expected["keyFormat"] = (key["format"], key.get("windowType"), key.get("windowSize"))
    if node.get("valueFormat"):
        expected["valueFormat"] = node["valueFormat"]
    for name in ("keyFeatures", "valueFeatures"):
        if node.get(name) is not None:
            expected[name] = sorted(node[name])
    if node.get("isSource") is not None:
        expected["isSource"] = node["isSource"]
    return expected


def _facts(source: Source) -> dict[str, Any]:
    windows = source.windows
    return {
        "name": source.name,
        "type": source.kind.value,
        "schema": str(_in_parts(source.schema)),
        "keyFormat": (source.key_format.format.name, windows and windows.kind.value, windows and windows.size_ms),
        "valueFormat": source.value_format.format.name,
        "keyFeatures": _features(source.key_format),
        "valueFeatures": _features(source.value_format),
        "isSource": source.is_read_only,
    }


def _features(given: ColumnsFormat) -> list[str]:
    return sorted(feature.value for feature in given.features)


def _schema(text: str) -> Schema:
    columns = parse_columns(text)
    return _in_parts(Schema(tuple(Column(each.name, each.type, PARTS[each.role], each.header) for each in columns)))


def _in_parts(schema: Schema) -> Schema:
    """Keys, values and headers apart: how they stand among each other does not matter."""
    return Schema(tuple(column for part in Part for column in schema if column.part is part))
