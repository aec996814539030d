"""Trees to canonical text. It reads back as the same tree, and equal expressions have equal text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from headrace.sql.tree import expressions as e
from headrace.sql.tree import queries as q
from headrace.sql.tree import statements as s
from headrace.sql.tree.names import quoted
from headrace.sql.types.java_text import double_text


def shown(node: Any) -> str:
    """The text of an expression, a query or a statement (without its semicolon)."""
    return _WRITERS[type(node)](node)


def _all(nodes: Iterable[Any]) -> str:
    return ", ".join(map(shown, nodes))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


# Expressions


def _column(node: e.Column) -> str:
    return quoted(node.name) if node.source is None else f"{quoted(node.source)}.{quoted(node.name)}"


def _signed(node: e.Signed) -> str:
    value = shown(node.value)
    return f"{node.sign}{' ' if value[0] in '+-' else ''}{value}"


def _lambda(node: e.Lambda) -> str:
    return f"({', '.join(map(quoted, node.parameters))}) => {shown(node.body)}"


def _like(node: e.Like) -> str:
    escape = "" if node.escape is None else f" ESCAPE {_text(node.escape)}"
    return f"({shown(node.value)} LIKE {shown(node.pattern)}{escape})"


def _case(node: e.Case) -> str:
    operand = "" if node.operand is None else f" {shown(node.operand)}"
    whens = "".join(f" WHEN {shown(when.condition)} THEN {shown(when.result)}" for when in node.whens)
    default = "" if node.default is None else f" ELSE {shown(node.default)}"
    return f"(CASE{operand}{whens}{default} END)"


def _map(node: e.MapOf) -> str:
    return f"MAP({', '.join(f'{shown(key)}:={shown(value)}' for key, value in node.entries)})"


def _struct(node: e.StructOf) -> str:
    return f"STRUCT({', '.join(f'{quoted(name)}:={shown(value)}' for name, value in node.fields)})"


# Queries


def _selected(node: q.Selected) -> str:
    return shown(node.expression) + ("" if node.alias is None else f" {quoted(node.alias)}")


def _source(node: q.Source) -> str:
    return quoted(node.name) + ("" if node.alias is None else f" {quoted(node.alias)}")


def _join(node: q.Join) -> str:
    within = "" if node.within is None else f" {shown(node.within)}"
    return f"{node.kind.value} JOIN {shown(node.source)}{within} ON ({shown(node.condition)})"


def _within(node: q.Within) -> str:
    size = shown(node.before) if node.before == node.after else f"({shown(node.before)}, {shown(node.after)})"
    return f"WITHIN {size}" + ("" if node.grace is None else f" GRACE PERIOD {shown(node.grace)}")


def _window(node: q.Window) -> str:
    parts = [shown(node.size) if node.kind is q.WindowKind.SESSION else f"SIZE {shown(node.size)}"]
    named = {"ADVANCE BY": node.advance, "RETENTION": node.retention, "GRACE PERIOD": node.grace}
    parts += [f"{name} {shown(length)}" for name, length in named.items() if length is not None]
    return f"WINDOW {node.kind.value} ({', '.join(parts)})"


def _query(node: q.Query) -> str:
    lines = [f"SELECT {_all(node.items)}", f"FROM {shown(node.source)}", *map(shown, node.joins)]
    if node.window is not None:
        lines.append(shown(node.window))
    if node.where is not None:
        lines.append(f"WHERE {shown(node.where)}")
    if node.group_by:
        lines.append(f"GROUP BY {_all(node.group_by)}")
    if node.partition_by:
        lines.append(f"PARTITION BY {_all(node.partition_by)}")
    if node.having is not None:
        lines.append(f"HAVING {shown(node.having)}")
    if node.emit is not None:
        lines.append(f"EMIT {node.emit.value}")
    if node.limit is not None:
        lines.append(f"LIMIT {node.limit}")
    return "\n".join(lines)


# Statements


def _definition(node: s.ColumnDefinition) -> str:
    role = "" if node.role is None else f" {node.role.value}"
    header = "" if node.header is None else f"({_text(node.header)})"
    return f"{quoted(node.name)} {node.type}{role}{header}"


def _with(properties: s.Properties) -> str:
    listed = ", ".join(f"{_property_name(name)}={shown(value)}" for name, value in properties)
    return f" WITH ({listed})" if properties else ""


def _property_name(name: str) -> str:
    return name if quoted(name) == name else _text(name)


def _create(node: s.CreateSource | s.CreateAs) -> str:
    replace = "OR REPLACE " if node.or_replace else ""
    source = "SOURCE " if isinstance(node, s.CreateSource) and node.is_read_only else ""
    return f"CREATE {replace}{source}{node.kind.value} {_unless_exists(node.if_not_exists)}{quoted(node.name)}"


def _create_source(node: s.CreateSource) -> str:
    columns = f" ({_all(node.columns)})" if node.columns else ""
    return f"{_create(node)}{columns}{_with(node.properties)}"


def _create_as(node: s.CreateAs) -> str:
    return f"{_create(node)}{_with(node.properties)} AS {shown(node.query)}"


def _unless_exists(if_not_exists: bool) -> str:
    return "IF NOT EXISTS " if if_not_exists else ""


def _if_exists(if_exists: bool) -> str:
    return "IF EXISTS " if if_exists else ""


def _insert_values(node: s.InsertValues) -> str:
    columns = f" ({', '.join(map(quoted, node.columns))})" if node.columns else ""
    return f"INSERT INTO {quoted(node.target)}{columns} VALUES ({_all(node.values)})"


def _drop_source(node: s.DropSource) -> str:
    deletion = " DELETE TOPIC" if node.delete_topic else ""
    return f"DROP {node.kind.value} {_if_exists(node.if_exists)}{quoted(node.name)}{deletion}"


def _alter(node: s.AlterSource) -> str:
    added = ", ".join(f"ADD COLUMN {shown(column)}" for column in node.columns)
    return f"ALTER {node.kind.value} {quoted(node.name)} {added}"


def _create_connector(node: s.CreateConnector) -> str:
    name = f"{_unless_exists(node.if_not_exists)}{quoted(node.name)}"
    return f"CREATE {node.kind.value} CONNECTOR {name}{_with(node.properties)}"


def _describe(node: s.Describe) -> str:
    words = ["DESCRIBE", node.what.value, "" if node.name is None else quoted(node.name)]
    return " ".join(filter(None, [*words, "EXTENDED" if node.is_extended else ""]))


def _explain(node: s.Explain) -> str:
    return f"EXPLAIN {quoted(node.subject) if isinstance(node.subject, str) else shown(node.subject)}"


def _print(node: s.Print) -> str:
    start = " FROM BEGINNING" if node.from_beginning else ""
    interval = "" if node.interval is None else f" INTERVAL {node.interval}"
    limit = "" if node.limit is None else f" LIMIT {node.limit}"
    return f"PRINT {_text(node.topic)}{start}{interval}{limit}"


def _set(node: s.SetProperty) -> str:
    return f"{'ALTER SYSTEM' if node.for_system else 'SET'} {_text(node.name)}={_text(node.value)}"


def _assertion(exists: bool, timeout: q.Duration | None, what: str) -> str:
    limit = "" if timeout is None else f" TIMEOUT {shown(timeout)}"
    return f"ASSERT {'' if exists else 'NOT EXISTS '}{what}{limit}"


def _assert_topic(node: s.AssertTopic) -> str:
    return _assertion(node.exists, node.timeout, f"TOPIC {_text(node.topic)}{_with(node.properties)}")


def _assert_schema(node: s.AssertSchema) -> str:
    subject = "" if node.subject is None else f" SUBJECT {_text(node.subject)}"
    id_ = "" if node.id is None else f" ID {shown(node.id)}"
    return _assertion(node.exists, node.timeout, f"SCHEMA{subject}{id_}")


def _spool(node: s.Spool) -> str:
    return f"SPOOL {'OFF' if node.file is None else _text(node.file)}"


_WRITERS: dict[type, Callable[[Any], str]] = {
    e.NullLiteral: lambda node: "null",
    e.BooleanLiteral: lambda node: "true" if node.value else "false",
    e.IntegerLiteral: lambda node: str(node.value),
    e.LongLiteral: lambda node: str(node.value),
    e.DecimalLiteral: lambda node: format(node.value, "f") + ("" if node.value.as_tuple().exponent < 0 else "."),
    e.DoubleLiteral: lambda node: _exponential(node.value),
    e.StringLiteral: lambda node: _text(node.value),
    e.TimeUnit: lambda node: node.name,
    e.Column: _column,
    e.LambdaVariable: lambda node: quoted(node.name),
    e.Lambda: _lambda,
    e.Binary: lambda node: f"({shown(node.left)} {node.operator} {shown(node.right)})",
    e.Signed: _signed,
    e.Not: lambda node: f"(NOT {shown(node.value)})",
    e.IsNull: lambda node: f"({shown(node.value)} IS {'NOT ' if node.negated else ''}NULL)",
    e.Between: lambda node: f"({shown(node.value)} BETWEEN {shown(node.low)} AND {shown(node.high)})",
    e.In: lambda node: f"({shown(node.value)} IN ({_all(node.items)}))",
    e.Like: _like,
    e.Case: _case,
    e.Cast: lambda node: f"CAST({shown(node.value)} AS {node.type})",
    e.Typed: lambda node: f"{node.type} {_text(node.text)}",
    e.ArrayOf: lambda node: f"ARRAY[{_all(node.items)}]",
    e.MapOf: _map,
    e.StructOf: _struct,
    e.Call: lambda node: f"{quoted(node.name)}({'*' if node.star else _all(node.arguments)})",
    e.Subscript: lambda node: f"{shown(node.base)}[{shown(node.index)}]",
    e.Dereference: lambda node: f"{shown(node.base)}->{quoted(node.name)}",
    q.Selected: _selected,
    q.AllColumns: lambda node: "*" if node.source is None else f"{quoted(node.source)}.*",
    q.AllFields: lambda node: f"{shown(node.base)}->*",
    q.Duration: lambda node: f"{node.count} {node.unit}",
    q.Source: _source,
    q.Join: _join,
    q.Within: _within,
    q.Window: _window,
    q.Query: _query,
    s.ColumnDefinition: _definition,
    s.Select: lambda node: shown(node.query),
    s.CreateSource: _create_source,
    s.CreateAs: _create_as,
    s.InsertInto: lambda node: f"INSERT INTO {quoted(node.target)}{_with(node.properties)} {shown(node.query)}",
    s.InsertValues: _insert_values,
    s.DropSource: _drop_source,
    s.AlterSource: _alter,
    s.CreateType: lambda node: f"CREATE TYPE {_unless_exists(node.if_not_exists)}{quoted(node.name)} AS {node.type}",
    s.DropType: lambda node: f"DROP TYPE {_if_exists(node.if_exists)}{quoted(node.name)}",
    s.CreateConnector: _create_connector,
    s.DropConnector: lambda node: f"DROP CONNECTOR {_if_exists(node.if_exists)}{quoted(node.name)}",
    s.Show: lambda node: f"SHOW {node.what.value}{' EXTENDED' if node.is_extended else ''}",
    s.Describe: _describe,
    s.Explain: _explain,
    s.Print: _print,
    s.ControlQuery: lambda node: f"{node.action.value} {'ALL' if node.query_id is None else quoted(node.query_id)}",
    s.RunScript: lambda node: f"RUN SCRIPT {_text(node.file)}",
    s.Spool: _spool,
    s.SetProperty: _set,
    s.UnsetProperty: lambda node: f"UNSET {_text(node.name)}",
    s.Define: lambda node: f"DEFINE {quoted(node.name)}={_text(node.value)}",
    s.Undefine: lambda node: f"UNDEFINE {quoted(node.name)}",
    s.AssertTopic: _assert_topic,
    s.AssertSchema: _assert_schema,
}


def _exponential(value: float) -> str:
    """With an exponent always: without one it would be a DECIMAL."""
    sign, (first, *rest), power = Decimal(double_text(value)).normalize().as_tuple()
    fraction = "." + "".join(map(str, rest)) if rest else ""
    return f"{'-' * sign}{first}{fraction}E{int(power) + len(rest)}"
