"""What building a query needs to know beyond its steps, and the serdes of its topics and stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.dsl.builder import StreamsBuilder
from headrace.serde.contract import Serde
from headrace.serde.registry import SchemaRegistry
from headrace.serde.windowed import SessionWindowedSerde, TimeWindowedSerde
from headrace.sql.catalog.sources import WindowedKeys
from headrace.sql.formats.format_info import SCHEMA_ID, ColumnsFormat
from headrace.sql.formats.rows import key_serde, row_serde
from headrace.sql.functions.registry import Registry
from headrace.sql.planning import steps as s
from headrace.sql.planning.schemas import step_schema
from headrace.sql.planning.steps import Formats, Step
from headrace.sql.processing_log import PartLog, ProcessingLog
from headrace.sql.schema import Schema


@dataclass(frozen=True, slots=True)
class BuildContext:
    """One query that is built. ``settings`` are those in force for it, by ksqlDB's names."""

    query_id: str
    builder: StreamsBuilder
    functions: Registry
    log: ProcessingLog
    registry: SchemaRegistry | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def schema(self, step: Step, *below: Schema) -> Schema:
        """The columns of the rows that come out of the step."""
        return step_schema(step, below, self.functions)

    def logger(self, step: Step, *words: str) -> PartLog:
        """Where failures of the step are told."""
        return self.log.logger(".".join((self.query_id, *step.context, *words)))

    def serdes(self, schema: Schema, formats: Formats, windows: WindowedKeys | None = None) -> dict[str, Any]:
        """The serdes of a store or topic inside the query, as keywords of the DSL; they have schemas of their own."""
        return self._serdes(schema, _own(formats.key), _own(formats.value), windows, None)

    def topic_serdes(
        self, step: s.SourceStep | s.SinkStep, schema: Schema, windows: WindowedKeys | None
    ) -> dict[str, Any]:
        """The serdes of the topic that a step reads or writes. What they cannot do is told in the processing log."""
        return self._serdes(schema, step.formats.key, step.formats.value, windows, self.logger(step))

    def _serdes(
        self,
        schema: Schema,
        key: ColumnsFormat,
        value: ColumnsFormat,
        windows: WindowedKeys | None,
        log: PartLog | None,
    ) -> dict[str, Any]:
        inner = key_serde(schema.key, key, registry=self.registry, log=log)
        rows = row_serde(schema.value, value, registry=self.registry, log=log)
        return {"key_serde": _windowed(inner, windows), "value_serde": rows}


def _own(given: ColumnsFormat) -> ColumnsFormat:
    """The format without the id of a schema: what is inside a query has other columns."""
    kept = {name: value for name, value in given.properties.items() if name != SCHEMA_ID}
    return ColumnsFormat(given.format, kept, given.features)


def _windowed(inner: Serde[Any], windows: WindowedKeys | None) -> Serde[Any]:
    if windows is None:
        return inner
    return SessionWindowedSerde(inner) if windows.size_ms is None else TimeWindowedSerde(inner, windows.size_ms)
