"""Runs a case on the batch engine: each input is a batch of its own, in one partition, on the embedded broker.

Compared are the records of the sink topics, in order, for each input, with what the test driver writes. Caches are off
on both sides: what they hold back depends on when they are flushed, and a batch is one commit where the driver has
several. Programs have one sub-topology: in the driver all of them share one stream time, in an engine they do not.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from headrace.batch.local import LocalEngine
from headrace.broker import open_broker
from headrace.broker.port import NewRecord
from headrace.config import StreamsConfig
from headrace.records import Headers
from tests.conformance.adapter import Program
from tests.conformance.printed import printed
from tests.conformance.runner import CaseRun, _value
from tests.conformance.specs import Json, raw, serde

_SHARED_MEMORY = Path("/dev/shm")
_NO_THROTTLE = {
    "__emit.interval.ms.kstreams.outer.join.spurious.results.fix__": 0,
    "__emit.interval.ms.kstreams.windowed.aggregation__": 0,
}
_NOT_A_RECORD = ("put", "query", "iq", "advance_topic_clock_ms")


def can_run(case: Json) -> bool:
    """Whether this is such a program: one sub-topology, no error, and inputs that are records or time."""
    expected = case["expected"]
    parts = re.findall(r"Sub-topology: \d+(?! for global store)", expected.get("describe", ""))
    return (
        len(parts) == 1
        and "error" not in expected
        and bool(expected.get("steps"))
        and "input_clock" not in case
        and not any(name in step for step in case["inputs"] for name in _NOT_A_RECORD)
    )


def run_on_batches(case: Json) -> tuple[list[Any], list[Any]]:
    """What the driver and what the engine wrote: the sink records of each input, by topic."""
    program = _program(case)
    shown = CaseRun(case, program)
    now = [case.get("wall_clock", 1700000000000)]
    base = _SHARED_MEMORY if _SHARED_MEMORY.exists() else None
    with tempfile.TemporaryDirectory(dir=base) as directory, printed([]):
        topology = program.build()
        broker = open_broker(f"embedded:{directory}/broker", fsync="never")
        settings = {**program.config, **_NO_THROTTLE, "state.dir": f"{directory}/state"}
        topology.configure(StreamsConfig(settings))
        for topic in sorted({step["topic"] for step in case["inputs"] if "topic" in step} | _source_topics(topology)):
            broker.create_topic(topic)
        found = []
        with LocalEngine(topology, settings, broker, clock=lambda: now[0]) as engine:
            # Sources that start at the end of their topics have found it before the first record comes.
            engine.run_until_idle()
            ends: dict[str, int] = {}
            internal = {topic.name for topic in engine.application.topics.internal}
            given = {step["topic"] for step in case["inputs"] if "topic" in step}
            for step in case["inputs"]:
                if "advance_wall_clock_ms" in step:
                    now[0] += step["advance_wall_clock_ms"]
                else:
                    broker.append([_record(case, step)])
                    if step["topic"] in given:
                        ends[step["topic"]] = ends.get(step["topic"], 0) + 1
                engine.run_until_idle()
                found.append(_written(broker, ends, internal, shown))
        broker.close()
    return _on_the_driver(case), found


def _program(case: Json) -> Program:
    program = Program(case)
    program.config["statestore.cache.max.bytes"] = 0
    return program


def _on_the_driver(case: Json) -> list[Any]:
    run = CaseRun(case, _program(case))
    with printed([]):
        run.everything()
    return [_by_topic(step) for step in run.found["steps"]]


def _source_topics(topology: Any) -> set[str]:
    graph = topology.graph
    plans = [topology.task_plan(), topology.global_plan()]
    return {topic for plan in plans if plan is not None for topic in plan.source_topics} - {
        graph.full_topic(topic) for topic in graph.internal_topics
    }


def _record(case: Json, step: Json) -> NewRecord:
    spec = case.get("topics", {}).get(step["topic"], {})
    parts = []
    for part in ("key", "value"):
        given = step.get(part)
        data = raw(given)
        if data is None:
            data = serde(spec.get(part, "string")).serialize(step["topic"], _value(given, spec.get(part)))
        parts.append(data)
    headers = Headers((name, None if text is None else text.encode()) for name, text in step.get("headers", []))
    return NewRecord(step["topic"], parts[0], parts[1], step["ts"], headers, 0)


def _written(broker: Any, ends: dict[str, int], internal: set[str], shown: CaseRun) -> dict[str, list[Any]]:
    written: dict[str, list[Any]] = {}
    for topic in broker.topics():
        if topic in internal:
            continue
        for records in broker.read(topic, 0, ends.get(topic, 0)):
            for name, _, offset, timestamp, key, value, headers in records:
                ends[name] = offset + 1
                record = _Shown(name, timestamp, key, value, headers)
                written.setdefault(name, []).append(shown._output(record))
    return written


class _Shown:
    def __init__(self, topic: str, timestamp: int, key: Any, value: Any, headers: Headers) -> None:
        self.topic, self.timestamp, self.key, self.value, self.headers = topic, timestamp, key, value, headers


def _by_topic(records: list[Any]) -> dict[str, list[Any]]:
    by_topic: dict[str, list[Any]] = {}
    for record in records:
        by_topic.setdefault(record["topic"], []).append(record)
    return by_topic
