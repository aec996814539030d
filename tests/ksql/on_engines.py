"""Cases on the engines that applications run on: over a broker, batch by batch, with one record in each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from headrace.serde.directory_registry import DirectorySchemaRegistry
from headrace.serde.registry import InMemorySchemaRegistry, SchemaRegistry
from headrace.sql.engine.ports import NewRecord
from headrace.sql.functions import Registry
from headrace.sql.tree.statements import Parsed
from headrace.topology import Topology
from tests.conformance.case_inputs import Piped
from tests.conformance.engine_run import EngineRun
from tests.conformance.engines import ENGINES, EngineKind
from tests.ksql.cases import Case
from tests.ksql.errors import ErrorRules
from tests.ksql.feeding import Feeding
from tests.ksql.outcomes import PASSED, Outcome
from tests.ksql.running import CaseRun


class EngineFeeding(Feeding):
    """Runs the queries of a case on an engine."""

    engine_kind: EngineKind
    directory: Path

    def written(
        self, topology: Topology, config: dict[str, Any], records: list[tuple[str, NewRecord]]
    ) -> list[tuple[str, NewRecord]]:
        """What the engine writes; each record is in a batch of its own."""
        directory = Path(tempfile.mkdtemp(dir=self.directory))
        settings = {**config, "state.dir": str(directory / "state")}
        run = EngineRun(
            self.engine_kind,
            topology,
            settings,
            directory,
            topics=(),
            partitions=1,
            other_partitions=1,
            wall_clock_ms=0,
            starts_empty=True,
        )
        try:
            found = []
            for topic, record in records:
                piped = Piped(topic, record.key, record.value, record.timestamp, record.headers)
                found += run.feed([piped])
        finally:
            run.close()
        return [(topic, NewRecord(key, value, time, headers)) for topic, _, _, time, key, value, headers in found]


class EngineCaseRun(CaseRun):
    """A case that runs on an engine. Its registry is a directory, which the processes of the engine share."""

    def __init__(
        self, case: Case, functions: Registry, rules: ErrorRules, engine_kind: EngineKind, directory: Path
    ) -> None:
        super().__init__(case, functions, rules)
        self._engine_kind, self._directory = engine_kind, directory
        self.earliest_ms = engine_kind.earliest_ms

    def feeding(self) -> Feeding:
        found = EngineFeeding(self.case, self.topics, self.engine, self.registry)
        found.engine_kind, found.directory = self._engine_kind, self._directory
        return found

    def afterwards(self) -> Outcome:
        """Nothing more: engines do not show topics that they use inside a batch."""
        return PASSED

    def declared_registry(self, statements: list[Parsed]) -> SchemaRegistry:
        declared = super().declared_registry(statements)
        assert isinstance(declared, InMemorySchemaRegistry)
        shared = DirectorySchemaRegistry(tempfile.mkdtemp(dir=self._directory))
        latest = [(found[0], subject, found[1]) for subject in declared.subjects if (found := declared.latest(subject))]
        for schema_id, subject, schema in sorted(latest, key=lambda each: each[0]):
            assert shared.register(subject, schema) == schema_id
        return shared


def sampled(found: Iterable[Case], every: int, start: int = 0) -> list[Case]:
    """Every so manyth of the cases that have results and that engines can run, from one of them on."""
    return [case for case in found if case.expected_error is None and can_run_on_engines(case)][start::every]


def outcomes_on(engine: str, functions: Registry, rules: ErrorRules, directory: Path) -> Callable[[Case], Outcome]:
    """How a case ends on an engine by the name that the command line has for it."""
    return lambda case: EngineCaseRun(case, functions, rules, ENGINES[engine], directory).outcome()


def can_run_on_engines(case: Case) -> bool:
    """Not cases that say which ids schemas have: a registry in a directory counts by itself."""
    topics = [node for node in case.node.get("topics") or () if isinstance(node, dict)]
    return not any("keySchemaId" in node or "valueSchemaId" in node for node in topics)
