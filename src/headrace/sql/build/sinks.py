"""Rows to topics."""

from __future__ import annotations

from functools import partial
from typing import Any

from headrace.dsl.kstream import KStream
from headrace.sql.build.context import BuildContext
from headrace.sql.build.processors import SetTime
from headrace.sql.build.times import row_time
from headrace.sql.build.views import StreamView, TableView
from headrace.sql.planning import steps as s


def stream(step: s.StreamSink, below: StreamView, context: BuildContext) -> None:
    """Write the rows."""
    _write(step, below.stream, below, context)


def table(step: s.TableSink, below: TableView, context: BuildContext) -> None:
    """Write the changes."""
    _write(step, below.table.to_stream(), below, context)


def _write(step: s.SinkStep, written: KStream[Any, Any], below: StreamView | TableView, context: BuildContext) -> None:
    if step.timestamp_column is not None:
        time = partial(SetTime, row_time(step.timestamp_column, below.schema), context.logger(step))
        written = written.process(time, name=f"ApplyTimestampTransform-{step.name}")
    serdes = context.topic_serdes(step, below.schema, below.windows)
    written.to(step.topic_name, **serdes)
