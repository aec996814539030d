"""What a statement comes to: a change of the catalog, a query to run, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from headrace.sql.catalog.sources import Source
from headrace.sql.planning.steps import SourceStep, Step, StreamSink, TableSink, walked
from headrace.sql.schema import Column
from headrace.sql.tree.statements import SourceKind
from headrace.sql.tree.types import SqlType


@dataclass(frozen=True, slots=True)
class CreateSource:
    """A stream or table that is there from now on."""

    source: Source
    or_replace: bool = False


@dataclass(frozen=True, slots=True)
class DropSource:
    """A stream or table that is not there any more."""

    source_name: str


@dataclass(frozen=True, slots=True)
class AlterSource:
    """A stream or table with more columns."""

    source_name: str
    kind: SourceKind
    new_columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class RegisterType:
    """A name for a type."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class DropType:
    """The name is free again."""

    name: str


DdlCommand: TypeAlias = CreateSource | DropSource | AlterSource | RegisterType | DropType


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """A query that keeps running; one without a sink fills a store and nothing else."""

    sources: tuple[str, ...]
    sink: str | None
    physical_plan: Step
    query_id: str
    runtime_id: str | None = None

    @property
    def is_insert(self) -> bool:
        """Whether INSERT INTO made it, which may have been given an id; nobody is given those of CREATE ... AS."""
        return not self.query_id.startswith(("CSAS_", "CTAS_"))

    @property
    def topics_read(self) -> set[str]:
        """The topics of its sources."""
        return {step.topic_name for step in walked(self.physical_plan) if isinstance(step, SourceStep)}

    @property
    def topic_written(self) -> str | None:
        """The topic of its sink."""
        sink = self.physical_plan
        return sink.topic_name if isinstance(sink, StreamSink | TableSink) else None


@dataclass(frozen=True, slots=True)
class StatementPlan:
    """All that a statement does."""

    statement_text: str
    ddl_command: DdlCommand | None = None
    query_plan: QueryPlan | None = None
