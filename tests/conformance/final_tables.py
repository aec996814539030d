"""The sinks and stores of a program whose contents in the end do not depend on how caches and batches merge updates.

A table ends as what its last update says, however many of the updates in between are seen. That goes on through
whatever is a function of tables: filters, mappings, joins. It ends where each update counts: a stream of updates that
is filtered, joined or aggregated again, or where a function fails and its update is skipped.

Five things end it in Kafka Streams, and so here. An aggregation of a table has a value, if only zero, for each group
that a row was ever in, and a cache hides some. A session that is merged after its time is never deleted downstream,
unless a cache still had it. Two tables that lose a key in one commit do not delete it from their join: each finds the
other's side empty. A window store without timestamps cannot tell sliding windows when their last record came, while its
cache can. A store that forgets what was used least forgets it when the cache is flushed.
"""

from __future__ import annotations

import json
from collections import Counter

from tests.conformance.specs import Json

_STATELESS = ("filter", "filter_not", "select_key", "map", "flat_map", "map_values", "flat_map_values", "peek")
_TABLE_FUNCTIONS = ("filter", "filter_not", "map_values")


def final_tables(case: Json) -> set[str]:
    """The topics, changelogs included, that must hold the same last value of every key.

    >>> steps = [{"id": "t", "op": "table", "topic": "in"}, {"id": "s", "op": "to_stream", "on": "t"}]
    >>> sorted(final_tables({"topology": [*steps, {"op": "to", "on": "s", "topic": "out"}], "inputs": []}))
    ['out']
    """
    if case.get("api") == "topology":
        return set()
    kinds = _kinds(case["topology"], deletes=_may_delete(case))
    sinks = Counter(step["topic"] for step in case["topology"] if step["op"] == "to" and "topic" in step)
    read = {
        topic
        for step in case["topology"]
        for topic in (step.get("topic"), *step.get("topics", ()))
        if topic and step["op"] != "to"
    }
    found = {
        step["topic"]
        for step in case["topology"]
        if step["op"] == "to" and "topic" in step and kinds.get(step["on"]) == "updates" and sinks[step["topic"]] == 1
    }
    stores = {
        f"app-{step['materialized']['name']}-changelog"
        for step in case["topology"]
        if kinds.get(step.get("id")) == "table" and "name" in (step.get("materialized") or {})
    }
    return (found - read) | stores


def _kinds(steps: list[Json], *, deletes: bool) -> dict[str | None, str]:
    """What each step is: ``records`` (a stream that caches do not touch), a ``table``, its ``updates``, or nothing."""
    kinds: dict[str | None, str] = {}
    for step in steps:
        kind = _kind(step, kinds.get(step.get("on")), kinds.get(step.get("other")))
        if kind is not None and "id" in step and not (deletes and "join" in step["op"]):
            kinds[step["id"]] = kind
    return kinds


def _kind(step: Json, on: str | None, other: str | None) -> str | None:
    op, supplier = step["op"], (step.get("materialized") or {}).get("supplier", {})
    if on in ("table", "updates") and "raise" in json.dumps(step):
        return None
    if op in ("stream", "table"):
        return "records" if op == "stream" else "table"
    if on == "records":
        return _from_records(step, other)
    if on == "grouped records" and op == "windowed_by":
        return {"session": None, "sliding": "sliding records"}.get(step["windows"]["type"], "windowed records")
    if on == "grouped records":
        return "table" if _is_aggregation(op) and supplier.get("supplier") != "lru" else None
    if on in ("windowed records", "sliding records"):
        knows_times = on == "windowed records" or supplier.get("type") != "window"
        return "table" if _is_aggregation(op) and knows_times else None
    if on == "table":
        return _from_table(step, other)
    return "updates" if on == "updates" and op in ("map_values", "peek") else None


def _from_records(step: Json, other: str | None) -> str | None:
    op = step["op"]
    if op in _STATELESS or op == "repartition" or (op == "merge" and other == "records"):
        return "records"
    if op in ("group_by_key", "group_by"):
        return "grouped records"
    return "table" if op == "to_table" else None


def _from_table(step: Json, other: str | None) -> str | None:
    op = step["op"]
    if op in _TABLE_FUNCTIONS or (op in ("join", "left_join", "outer_join") and other == "table"):
        return "table"
    if op == "to_stream" and "mapper" not in step:
        return "updates"
    return None


def _is_aggregation(op: str) -> bool:
    return op in ("count", "reduce", "aggregate")


def _may_delete(case: Json) -> bool:
    """Whether a key of a table may be deleted: by a null, or by a function that can make one."""
    program = json.dumps(case["topology"])
    return any("topic" in step and step.get("value") is None for step in case["inputs"]) or any(
        name in program for name in ("filter", "null", "_unless", "_nonzero", '"field')
    )
