"""Plans to ksqlDB's JSON and back, in the form of version 8; older ones leave out what is null, and are read, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple, TypeAlias, cast

from headrace.sql.catalog.creating import PARTS
from headrace.sql.catalog.sources import Source, TimestampColumn, WindowedKeys
from headrace.sql.formats.format_info import FORMATS, ColumnsFormat, Feature
from headrace.sql.planning import plans, steps
from headrace.sql.planning.steps import Formats, Step
from headrace.sql.schema import Column, Schema
from headrace.sql.text.format import shown
from headrace.sql.text.parser import parse_columns, parse_expression, parse_item
from headrace.sql.tree.names import quoted
from headrace.sql.tree.queries import Duration, Emit, JoinKind, Selected, Window, WindowKind
from headrace.sql.tree.statements import SourceKind
from headrace.sql.tree.types import SqlType

Json: TypeAlias = dict[str, Any]

_KINDS: dict[str, type[Any]] = {
    "streamSourceV1": steps.StreamSource,
    "windowedStreamSourceV1": steps.WindowedStreamSource,
    "tableSourceV2": steps.TableSource,
    "windowedTableSourceV1": steps.WindowedTableSource,
    "streamSelectV1": steps.StreamSelect,
    "tableSelectV1": steps.TableSelect,
    "streamFilterV1": steps.StreamFilter,
    "tableFilterV1": steps.TableFilter,
    "streamFlatMapV1": steps.StreamFlatMap,
    "streamSelectKeyV2": steps.StreamSelectKey,
    "tableSelectKeyV1": steps.TableSelectKey,
    "streamGroupByKeyV1": steps.StreamGroupByKey,
    "streamGroupByV2": steps.StreamGroupBy,
    "tableGroupByV2": steps.TableGroupBy,
    "streamAggregateV1": steps.StreamAggregate,
    "streamWindowedAggregateV1": steps.StreamWindowedAggregate,
    "tableAggregateV1": steps.TableAggregate,
    "streamStreamJoinV1": steps.StreamStreamJoin,
    "streamTableJoinV1": steps.StreamTableJoin,
    "tableTableJoinV1": steps.TableTableJoin,
    "fkTableTableJoinV1": steps.ForeignKeyTableTableJoin,
    "streamSinkV1": steps.StreamSink,
    "tableSinkV1": steps.TableSink,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_JOINS = {"INNER": JoinKind.INNER, "LEFT": JoinKind.LEFT, "RIGHT": JoinKind.RIGHT, "OUTER": JoinKind.FULL}
_JOIN_NAMES = {kind: name for name, kind in _JOINS.items()}


def plan_as_json(plan: plans.StatementPlan) -> Json:
    """A plan as ksqlDB writes it down."""
    command, query = plan.ddl_command, plan.query_plan
    return {
        "statementText": plan.statement_text,
        "ddlCommand": None if command is None else _written_command(command),
        "queryPlan": None if query is None else _written_query(query),
    }


def plan_from_json(node: Json) -> plans.StatementPlan:
    """The plan that ksqlDB or ``plan_as_json`` wrote down."""
    command, query = node.get("ddlCommand"), node.get("queryPlan")
    return plans.StatementPlan(
        node["statementText"],
        None if command is None else _read_command(command),
        None if query is None else _read_query(query),
    )


def step_as_json(step: Step) -> Json:
    """A step with all steps below it."""
    written: Json = {"@type": _NAMES[type(step)], "properties": {"queryContext": "/".join(step.context)}}
    for field in fields(step):
        value = getattr(step, field.name)
        if field.name == "emit":
            written["windowExpression"]["emitStrategy"] = value and value.value
        elif field.name != "context":
            write = _FIELDS[field.name].write
            written[_camel(field.name)] = None if value is None else write(value)
    return written


def step_from_json(node: Json) -> Step:
    """The step that ksqlDB or ``step_as_json`` wrote down."""
    kind = _KINDS[node["@type"]]
    found: dict[str, Any] = {"context": tuple(node["properties"]["queryContext"].split("/"))}
    for field in fields(kind):
        if field.name == "emit":
            emit = node["windowExpression"].get("emitStrategy")
            found["emit"] = emit and Emit(emit)
        elif field.name != "context":
            value = node.get(_camel(field.name))
            found[field.name] = None if value is None else _FIELDS[field.name].read(value)
    return cast("Step", kind(**found))


# Commands and queries


def _written_command(command: plans.DdlCommand) -> Json:
    match command:
        case plans.CreateSource(source, or_replace):
            return _written_source(source, or_replace)
        case plans.DropSource(name):
            return {"@type": "dropSourceV1", "sourceName": name}
        case plans.AlterSource(name, kind, columns):
            added = [str(column) for column in columns]
            return {"@type": "alterSourceV1", "sourceName": name, "ksqlType": kind.value, "newColumns": added}
        case plans.RegisterType(name, type_):
            return {"@type": "registerTypeV1", "type": str(type_), "typeName": name}
        case plans.DropType(name):
            return {"@type": "dropTypeV1", "typeName": name}


def _read_command(node: Json) -> plans.DdlCommand:
    match node["@type"]:
        case "createStreamV1":
            return plans.CreateSource(_read_source(node, SourceKind.STREAM), node.get("orReplace", False))
        case "createTableV1":
            return plans.CreateSource(_read_source(node, SourceKind.TABLE), node.get("orReplace", False))
        case "dropSourceV1":
            return plans.DropSource(node["sourceName"])
        case "alterSourceV1":
            added = _read_schema(", ".join(node["newColumns"])).columns
            return plans.AlterSource(node["sourceName"], SourceKind(node["ksqlType"]), added)
        case "registerTypeV1":
            return plans.RegisterType(node["typeName"], _read_type(node["type"]))
        case "dropTypeV1":
            return plans.DropType(node["typeName"])
        case other:
            message = f"no command is written as {other}"
            raise ValueError(message)


def _written_source(source: Source, or_replace: bool) -> Json:
    return {
        "@type": "createStreamV1" if source.kind is SourceKind.STREAM else "createTableV1",
        "sourceName": source.name,
        "schema": str(source.schema),
        "timestampColumn": source.timestamp and _written_timestamp(source.timestamp),
        "topicName": source.topic,
        "formats": _written_formats(Formats(source.key_format, source.value_format)),
        "windowInfo": source.windows and _written_windows(source.windows),
        "orReplace": or_replace,
        "isSource": source.is_read_only,
    }


def _read_source(node: Json, kind: SourceKind) -> Source:
    formats, column, windows = _read_formats(node["formats"]), node.get("timestampColumn"), node.get("windowInfo")
    return Source(
        kind,
        node["sourceName"],
        _read_schema(node["schema"]),
        node["topicName"],
        formats.key,
        formats.value,
        column and _read_timestamp(column),
        windows and _read_windows(windows),
        node.get("isSource", False),
    )


def _written_query(query: plans.QueryPlan) -> Json:
    return {
        "sources": list(query.sources),
        "sink": query.sink,
        "physicalPlan": step_as_json(query.physical_plan),
        "queryId": query.query_id,
        "runtimeId": query.runtime_id,
    }


def _read_query(node: Json) -> plans.QueryPlan:
    step = step_from_json(node["physicalPlan"])
    return plans.QueryPlan(tuple(node["sources"]), node.get("sink"), step, node["queryId"], node.get("runtimeId"))


# Parts of steps


def _written_formats(formats: Formats) -> Json:
    written: Json = {}
    for side, given in (("key", formats.key), ("value", formats.value)):
        written[f"{side}Format"] = {"format": given.format.name, "properties": dict(given.properties)}
        if given.features:
            written[f"{side}Features"] = sorted(feature.value for feature in given.features)
    return written


def _read_formats(node: Json) -> Formats:
    return Formats(_read_format(node, "key"), _read_format(node, "value"))


def _read_format(node: Json, side: str) -> ColumnsFormat:
    given = node[f"{side}Format"]
    features = frozenset(map(Feature, node.get(f"{side}Features", ())))
    return ColumnsFormat(FORMATS[given["format"]], given.get("properties", {}), features)


def _read_schema(text: str) -> Schema:
    columns = parse_columns(text)
    return Schema(tuple(Column(each.name, each.type, PARTS[each.role], each.header) for each in columns))


def _read_type(text: str) -> SqlType:
    return parse_columns(f"T {text}")[0].type


def _written_timestamp(column: TimestampColumn) -> Json:
    return {"column": column.name, "format": column.pattern}


def _read_timestamp(node: Json) -> TimestampColumn:
    return TimestampColumn(node["column"], node.get("format"))


def _written_windows(windows: WindowedKeys) -> Json:
    size = None if windows.size_ms is None else windows.size_ms / 1000
    return {"type": windows.kind.value, "size": size, "emitStrategy": windows.emit.value}


def _read_windows(node: Json) -> WindowedKeys:
    size = node.get("size")
    emit = Emit(node.get("emitStrategy") or Emit.CHANGES.value)
    return WindowedKeys(WindowKind(node["type"]), None if size is None else _read_seconds(size), emit)


def _read_seconds(seconds: float) -> int:
    return round(seconds * 1000)


def _written_window(window: Window) -> Json:
    is_session = window.kind is WindowKind.SESSION
    written: Json = {"gap" if is_session else "size": _written_duration(window.size)}
    if window.advance is not None:
        written["advanceBy"] = _written_duration(window.advance)
    written["retention"] = window.retention and _written_duration(window.retention)
    written["gracePeriod"] = window.grace and _written_duration(window.grace)
    return {**written, "emitStrategy": None, "windowType": window.kind.value}


def _read_window(node: Json) -> Window:
    lengths = {name: _read_duration(value) for name, value in node.items() if isinstance(value, Mapping)}
    size = lengths.get("gap") or lengths["size"]
    advance, retention, grace = map(lengths.get, ("advanceBy", "retention", "gracePeriod"))
    return Window(WindowKind(node["windowType"]), size, advance, retention, grace)


def _written_duration(length: Duration) -> Json:
    return {"value": length.count, "timeUnit": length.unit.removesuffix("S") + "S"}


def _read_duration(node: Mapping[str, Any]) -> Duration:
    return Duration(node["value"], node["timeUnit"])


def _written_selected(items: tuple[Selected, ...]) -> list[str]:
    return [f"{shown(each.expression)} AS {quoted(each.alias or '')}" for each in items]


def _listed(item: Callable[[Any], Any], of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: of(map(item, values))


class _Codec(NamedTuple):
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


_PLAIN = _Codec(lambda value: value, lambda value: value)
_NAME_LIST = _Codec(list, tuple)
_STEP = _Codec(step_as_json, step_from_json)
_FORMATS = _Codec(_written_formats, _read_formats)
_EXPRESSION = _Codec(shown, parse_expression)
_EXPRESSIONS = _Codec(_listed(shown, list), _listed(parse_expression, tuple))
_MILLIS = _Codec(lambda ms: ms / 1000, _read_seconds)

_FIELDS: dict[str, _Codec] = {
    "topic_name": _PLAIN,
    "pseudo_column_version": _PLAIN,
    "key_col_name": _PLAIN,
    "key_column_names": _NAME_LIST,
    "selected_keys": _NAME_LIST,
    "non_aggregate_columns": _NAME_LIST,
    "source": _STEP,
    "left_source": _STEP,
    "right_source": _STEP,
    "formats": _FORMATS,
    "internal_formats": _FORMATS,
    "state_store_formats": _FORMATS,
    "left_internal_formats": _FORMATS,
    "right_internal_formats": _FORMATS,
    "source_schema": _Codec(str, _read_schema),
    "timestamp_column": _Codec(_written_timestamp, _read_timestamp),
    "window_info": _Codec(_written_windows, _read_windows),
    "window_expression": _Codec(_written_window, _read_window),
    "select_expressions": _Codec(_written_selected, _listed(parse_item, tuple)),
    "filter_expression": _EXPRESSION,
    "left_join_expression": _EXPRESSION,
    "table_functions": _EXPRESSIONS,
    "key_expression": _EXPRESSIONS,
    "group_by_expressions": _EXPRESSIONS,
    "aggregation_functions": _EXPRESSIONS,
    "join_type": _Codec(_JOIN_NAMES.__getitem__, _JOINS.__getitem__),
    "before_millis": _MILLIS,
    "after_millis": _MILLIS,
    "grace_millis": _MILLIS,
}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
