"""Topics as streams and tables of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from headrace.sql.build.context import BuildContext
from headrace.sql.build.processors import SourceRows, TableSourceRows
from headrace.sql.build.rows import KeyColumns, RemainingColumns, SourceColumns, StoredColumns
from headrace.sql.build.times import record_time
from headrace.sql.build.views import StreamView, TableView
from headrace.sql.planning import steps as s
from headrace.sql.planning.schemas import stored_source
from headrace.sql.settings import OFFSET_RESET


def stream(step: s.StreamSource | s.WindowedStreamSource, context: BuildContext) -> StreamView:
    """Every record of the topic, with the columns that sources add."""
    windows = step.window_info if isinstance(step, s.WindowedStreamSource) else None
    source = context.builder.stream(
        step.topic_name,
        **context.topic_serdes(step, step.source_schema, windows),
        timestamp_extractor=record_time(step, context),
        offset_reset=_offset_reset(context, "latest"),
    )
    complete = SourceColumns(step.source_schema.headers, _key_columns(step, is_windowed=windows is not None))
    return StreamView(source.process_values(partial(SourceRows, complete)), context.schema(step), windows)


def table(step: s.TableSource | s.WindowedTableSource, context: BuildContext, *, is_rekeyed: bool) -> TableView:
    """The latest record of each key. It is kept here, unless ``is_rekeyed`` says that it is going to be elsewhere."""
    windows = step.window_info if isinstance(step, s.WindowedTableSource) else None
    source = context.builder.table(
        step.topic_name,
        **context.topic_serdes(step, step.source_schema, windows),
        timestamp_extractor=record_time(step, context),
        offset_reset=_offset_reset(context, "earliest"),
    )
    add: Callable[..., Any] = partial(TableSourceRows, StoredColumns(step.source_schema.headers))
    if is_rekeyed:
        stored = source.transform_values(add)
    else:
        formats = step.state_store_formats if isinstance(step, s.TableSource) else step.formats
        serdes = context.serdes(stored_source(step.source_schema), formats, windows)
        stored = source.transform_values(add, store=f"{'-'.join(step.context[:-1])}-Reduce", **serdes)
    rest = partial(TableSourceRows, RemainingColumns(_key_columns(step, is_windowed=windows is not None)))
    return TableView(stored.transform_values(rest), context.schema(step), windows)


def _key_columns(step: s.SourceStep, *, is_windowed: bool) -> KeyColumns:
    return KeyColumns(len(step.source_schema.key), is_windowed)


def _offset_reset(context: BuildContext, otherwise: str) -> str:
    return next((str(context.settings[name]) for name in OFFSET_RESET if name in context.settings), otherwise)
