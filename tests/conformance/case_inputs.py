"""The inputs of a case as what an engine sees: records as bytes with their times, and moves of the wall clock."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from headrace.partitioning import default_partition
from headrace.records import NO_HEADERS, Headers
from headrace.testing.topics import TestInputTopic
from tests.conformance.adapter import Program
from tests.conformance.runner import CaseRun
from tests.conformance.specs import Json

WALL_CLOCK_MS = 1_700_000_000_000


class Piped(NamedTuple):
    """A record that is piped in."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers

    def partition(self, count: int) -> int:
        """Where it goes in a topic of ``count`` partitions; records without a key all go to the first."""
        return 0 if self.key is None else default_partition(self.key, count)


class Advance(NamedTuple):
    """The wall clock moves."""

    ms: int


Input: TypeAlias = Piped | Advance


def inputs_of(case: Json) -> list[Input]:
    """What the case pipes in, up to the record that is meant to fail. Reads of stores change nothing and are left out.

    >>> inputs_of({"config": {}, "inputs": [{"topic": "in", "key": "a", "value": "x", "ts": 5}], "expected": {}})
    [Piped(topic='in', key=b'a', value=b'x', timestamp=5, headers=())]
    """
    tape = _Tape(case)
    run = CaseRun(case, Program(case))
    for number, step in enumerate(case["inputs"]):
        if not step.keys() & {"query", "iq", "put"}:
            run._step(tape, step)  # type: ignore[arg-type]
        if case["expected"].get("error", {}).get("at") == f"input {number}":
            break
    return tape.inputs


class _Tape:
    """Stands where the driver stands, and writes down what it is given."""

    def __init__(self, case: Json) -> None:
        self.inputs: list[Input] = []
        self._now_ms = case.get("wall_clock", WALL_CLOCK_MS)

    def create_input_topic(
        self, topic: str, key_serde: Any, value_serde: Any, *, start: int | None = None, auto_advance: int = 0
    ) -> TestInputTopic:
        return TestInputTopic(
            self,  # type: ignore[arg-type]
            topic,
            key_serde,
            value_serde,
            self._now_ms if start is None else start,
            auto_advance,
        )

    def pipe_record(
        self, topic: str, key: bytes | None, value: bytes | None, timestamp: int, headers: Headers = NO_HEADERS
    ) -> None:
        self.inputs.append(Piped(topic, key, value, timestamp, headers))

    def advance_wall_clock_time(self, ms: int) -> None:
        self.inputs.append(Advance(ms))
        self._now_ms += ms
