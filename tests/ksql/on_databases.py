"""Cases as users have them: statements in a ``Database`` on a broker, records in topics, and what is there then."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from headrace.broker.port import Broker, TopicPartition
from headrace.broker.port import NewRecord as BrokerRecord
from headrace.database import Database
from headrace.database.idle import readable_ends
from headrace.sql import SqlError, parse
from headrace.sql.engine.ports import NewRecord
from headrace.sql.engine.session import Session
from headrace.sql.functions import Registry
from headrace.sql.tree.statements import Parsed
from tests.conformance.engines import ENGINES, OWN_CLOCK
from tests.ksql.cases import Case
from tests.ksql.declaring import declared_partitions, said_partitions
from tests.ksql.errors import ErrorRules
from tests.ksql.feeding import CONFIG
from tests.ksql.on_engines import EngineCaseRun
from tests.ksql.outcomes import Outcome
from tests.ksql.running import SETTINGS


class DatabaseCaseRun(EngineCaseRun):
    """A case in a database of its own. Each of its records is processed before the next one comes."""

    database: Database
    broker: Broker

    def __init__(self, case: Case, functions: Registry, rules: ErrorRules, engine: str, directory: Path) -> None:
        super().__init__(case, functions, rules, ENGINES[engine], directory)
        self._functions = functions
        self._database_engine: Literal["spark", "local"] = "spark" if engine in OWN_CLOCK else "local"
        self._closing = ExitStack()
        self._ends: dict[TopicPartition, int] = {}

    def outcome(self) -> Outcome:
        directory = Path(tempfile.mkdtemp(dir=self._directory))
        settings = {**self._engine_kind.settings, "state.dir": str(directory / "state")}
        with self._closing:
            self.broker = self._closing.enter_context(self._engine_kind.open_broker(directory, settings))
            return super().outcome()

    def _execute(self) -> SqlError | None:
        statements = parse(self.case.text)
        for topic, partitions in self._topics(statements).items():
            self.broker.create_topic(topic, partitions)
        self.registry = self.declared_registry(statements)
        database = Database(
            self.broker.config,
            engine=self._database_engine,
            settings={**SETTINGS, **{f"ksql.streams.{name}": value for name, value in CONFIG.items()}},
            functions=self._functions,
            registry=self.registry,
        )
        self.database = self._closing.enter_context(database)
        self.engine = database.engine
        for _, answer in database.run_text(self.case.text, Session(dict(self.case.properties))):
            answer.close()
        return None

    def _topics(self, statements: list[Parsed]) -> dict[str, int]:
        """Those that are there before the statements, with one partition unless a statement says how many."""
        said = dict(said_partitions(statements))
        declared = dict(declared_partitions(self.case, statements))
        given = [record["topic"] for record in self.case.node["inputs"]]
        return {topic: said.get(topic, 1) for topic in {*declared, *given} if topic}

    def _feed(self) -> None:
        self._put_inputs()
        made, self.topics.records = self.topics.records, defaultdict(list)
        coming = {topic: iter(records) for topic, records in made.items()}
        self._process()
        for said in self.case.node["inputs"]:
            topic, record = said["topic"], next(coming[said["topic"]])
            self.broker.append([BrokerRecord(topic, record.key, record.value, record.timestamp, record.headers)])
            self._process()

    def _process(self) -> None:
        """Wait for the queries, and keep what is new in the topics that are compared."""
        self.database.run_until_idle()
        topics = {record["topic"] for record in self.case.node["outputs"]}
        for place, end in sorted(readable_ends(self.broker, topics).items()):
            for records in self.broker.read(*place, self._ends.get(place, 0), end):
                for topic, _, _, time, key, value, headers in records:
                    self.topics.append(topic, NewRecord(key, value, time, headers))
            self._ends[place] = end


def outcomes_in_databases(
    engine: str, functions: Registry, rules: ErrorRules, directory: Path
) -> Callable[[Case], Outcome]:
    """How a case ends in a database on the broker of an engine, by the name that the command line has for it."""

    def outcome(case: Case) -> Outcome:
        return DatabaseCaseRun(case, functions, rules, engine, directory).outcome()

    return outcome
