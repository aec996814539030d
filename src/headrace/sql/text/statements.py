"""Tokens to statements, chosen by their first word."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headrace.sql.text.cursor import Cursor
from headrace.sql.text.expressions import literal, value_expression, whole_number
from headrace.sql.text.meant import assertion, constraint
from headrace.sql.text.queries import duration, limit, query
from headrace.sql.text.tokens import NAME, STRING
from headrace.sql.text.types import type_
from headrace.sql.tree.expressions import Expression, Literal
from headrace.sql.tree.queries import Duration
from headrace.sql.tree.statements import (
    AlterSource,
    AssertSchema,
    AssertTopic,
    ColumnDefinition,
    ConnectorKind,
    ControlQuery,
    CreateAs,
    CreateConnector,
    CreateSource,
    CreateType,
    Define,
    Describe,
    Described,
    DropConnector,
    DropSource,
    DropType,
    Explain,
    InsertInto,
    InsertValues,
    Listed,
    Print,
    Properties,
    QueryAction,
    Role,
    RunScript,
    Select,
    SetProperty,
    Show,
    SourceKind,
    Spool,
    Statement,
    Undefine,
    UnsetProperty,
)


def statement(cursor: Cursor, *, commands: bool = False) -> Statement:
    """One statement, up to its semicolon; with ``commands`` also one of a shell."""
    # SPOOL is no word of the dialect: it is a name everywhere but here.
    word = cursor.token.text.upper() if cursor.kind == NAME else cursor.kind
    begin = _STATEMENTS.get(word) or (_COMMANDS.get(word) if commands else None)
    if begin is None:
        words = [*sorted(_STATEMENTS), *(sorted(_COMMANDS) if commands else ())]
        raise cursor.error("expected a statement", hint=f"Statements begin with {', '.join(words)}.", expected=words)
    return begin(cursor)


def _subject(cursor: Cursor, what: str = "a name") -> str:
    """The name of what the statement is about: a mistake that has no place of its own is underlined there."""
    cursor.subject = cursor.at
    return cursor.name(what)


def _quoted_subject(cursor: Cursor, what: str) -> str:
    cursor.subject = cursor.at
    return cursor.string(what)


def _create(cursor: Cursor) -> Statement:
    cursor.expect("CREATE")
    or_replace = cursor.accept("OR", "REPLACE")
    if not or_replace and cursor.accept("TYPE"):
        if_not_exists, name = cursor.accept("IF", "NOT", "EXISTS"), _subject(cursor)
        cursor.expect("AS")
        return CreateType(name, type_(cursor), if_not_exists)
    if not or_replace and cursor.ahead(1) == "CONNECTOR" and cursor.kind in {"SOURCE", "SINK"}:
        return _create_connector(cursor)
    is_read_only = cursor.accept("SOURCE")
    kind = _source_kind(cursor)
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = _subject(cursor, "the name of the new stream or table")
    columns = cursor.in_parentheses(partial(column, cursor)) if cursor.kind == "(" else ()
    properties = _properties(cursor) if cursor.accept("WITH") else ()
    if cursor.kind == "AS" and not columns and not is_read_only:
        cursor.take()
        return CreateAs(kind, name, query(cursor), properties, or_replace, if_not_exists)
    return CreateSource(kind, name, columns, properties, or_replace, is_read_only, if_not_exists)


def _source_kind(cursor: Cursor) -> SourceKind:
    if cursor.kind not in {"STREAM", "TABLE"}:
        raise cursor.error("expected STREAM or TABLE", expected=("STREAM", "TABLE"))
    return SourceKind(cursor.take().kind)


def column(cursor: Cursor) -> ColumnDefinition:
    """A column with its type, and what it is apart from a part of the value."""
    if cursor.kind == "PRIMARY" and (cursor.ahead(1), cursor.ahead(2)) == ("KEY", "("):
        raise cursor.error("expected a column", hint="A PRIMARY KEY is said behind the type: ID INT PRIMARY KEY.")
    at, name = cursor.at, cursor.name("a column")
    found = type_(cursor)
    if cursor.accept("PRIMARY", "KEY"):
        return ColumnDefinition(name, found, Role.PRIMARY_KEY, at=at)
    if cursor.accept("KEY"):
        return ColumnDefinition(name, found, Role.KEY, at=at)
    if cursor.accept("HEADERS"):
        return ColumnDefinition(name, found, Role.HEADERS, at=at)
    if cursor.accept("HEADER", "("):
        header = cursor.string("the name of a header in single quotes")
        cursor.expect(")")
        return ColumnDefinition(name, found, Role.HEADER, header, at=at)
    if (hint := constraint(cursor.token)) is not None:
        raise cursor.error("expected ',' or ')'", hint=hint)
    return ColumnDefinition(name, found, at=at)


def _properties(cursor: Cursor) -> Properties:
    return cursor.in_parentheses(partial(_property, cursor))


def _property(cursor: Cursor) -> tuple[str, Literal]:
    if cursor.kind == "TOPIC":
        raise cursor.error("expected a property", hint="The topic of a stream or table is its KAFKA_TOPIC.")
    name = cursor.string() if cursor.kind == STRING else cursor.name("a property")
    cursor.expect("=")
    return name, literal(cursor)


def _create_connector(cursor: Cursor) -> CreateConnector:
    kind = ConnectorKind(cursor.take().kind)
    cursor.expect("CONNECTOR")
    if_not_exists, name = cursor.accept("IF", "NOT", "EXISTS"), _subject(cursor)
    cursor.expect("WITH")
    return CreateConnector(kind, name, _properties(cursor), if_not_exists)


def _insert(cursor: Cursor) -> Statement:
    cursor.expect("INSERT", "INTO")
    target = _subject(cursor, "a stream or table")
    named = cursor.in_parentheses(lambda: (cursor.at, cursor.name("a column"))) if cursor.kind == "(" else ()
    columns_at, columns = tuple(at for at, _ in named), tuple(name for _, name in named)
    if columns or cursor.kind == "VALUES":
        cursor.expect("VALUES")
        values = _values(cursor)
        if cursor.kind == ",":
            raise cursor.error("expected ';'", hint="INSERT INTO takes one row: write a statement for each.")
        return InsertValues(target, columns, values, columns_at=columns_at)
    properties = _properties(cursor) if cursor.accept("WITH") else ()
    return InsertInto(target, query(cursor), properties)


def _values(cursor: Cursor) -> tuple[Expression, ...]:
    if cursor.accept("(", ")"):
        return ()
    return cursor.in_parentheses(partial(value_expression, cursor))


def _drop(cursor: Cursor) -> Statement:
    cursor.expect("DROP")
    if cursor.accept("TYPE"):
        return DropType(if_exists=cursor.accept("IF", "EXISTS"), name=_subject(cursor))
    if cursor.accept("CONNECTOR"):
        return DropConnector(if_exists=cursor.accept("IF", "EXISTS"), name=_subject(cursor))
    if cursor.kind not in {"STREAM", "TABLE"}:
        words = ("STREAM", "TABLE", "TYPE", "CONNECTOR")
        raise cursor.error("expected STREAM, TABLE, TYPE or CONNECTOR", expected=words)
    kind = _source_kind(cursor)
    if_exists, name = cursor.accept("IF", "EXISTS"), _subject(cursor, "a stream or table")
    return DropSource(kind, name, if_exists, cursor.accept("DELETE", "TOPIC"))


def _alter(cursor: Cursor) -> Statement:
    cursor.expect("ALTER")
    if cursor.accept("SYSTEM"):
        return _assignment(cursor, for_system=True)
    kind, name = _source_kind(cursor), _subject(cursor, "a stream or table")
    return AlterSource(kind, name, cursor.listed(partial(_added, cursor)))


def _added(cursor: Cursor) -> ColumnDefinition:
    cursor.expect("ADD")
    if cursor.kind == "COLUMN" and not _is_type_next(cursor):
        cursor.take()
    return ColumnDefinition(at=cursor.at, name=cursor.name("a column"), type=type_(cursor))


def _is_type_next(cursor: Cursor) -> bool:
    """``ADD COLUMN INT`` adds a column named COLUMN: behind the type comes nothing that could be one."""
    return cursor.ahead(2) in {",", ";", "end of text", "(", "<"}


def _assignment(cursor: Cursor, *, for_system: bool = False) -> SetProperty:
    name = _quoted_subject(cursor, "a property in single quotes")
    cursor.expect("=")
    return SetProperty(name, cursor.string("a value in single quotes"), for_system)


def _set(cursor: Cursor) -> SetProperty:
    cursor.expect("SET")
    return _assignment(cursor)


def _unset(cursor: Cursor) -> UnsetProperty:
    cursor.expect("UNSET")
    return UnsetProperty(_quoted_subject(cursor, "a property in single quotes"))


def _define(cursor: Cursor) -> Define:
    cursor.expect("DEFINE")
    name = cursor.name("a variable")
    cursor.expect("=")
    return Define(name, cursor.string("a value in single quotes"))


def _undefine(cursor: Cursor) -> Undefine:
    cursor.expect("UNDEFINE")
    return Undefine(_subject(cursor, "a variable"))


_EXTENDABLE = {Listed.TOPICS, Listed.ALL_TOPICS, Listed.STREAMS, Listed.TABLES, Listed.QUERIES}


def _show(cursor: Cursor) -> Show:
    cursor.take()
    for what in sorted(Listed, key=lambda listed: -len(listed.value)):
        if cursor.accept(*what.value.split()):
            return Show(what, what in _EXTENDABLE and cursor.accept("EXTENDED"))
    words = [what.value for what in Listed]
    raise cursor.error("expected what to show", hint=f"One of {', '.join(words)}.", expected=words)


def _describe(cursor: Cursor) -> Describe:
    cursor.expect("DESCRIBE")
    for what in (Described.FUNCTION, Described.CONNECTOR):
        if cursor.kind == what.value and cursor.ahead(1) not in {";", "EXTENDED", "end of text"}:
            cursor.take()
            return Describe(what, _subject(cursor))
    for what in (Described.STREAMS, Described.TABLES):
        if cursor.accept(what.value):
            return Describe(what, is_extended=cursor.accept("EXTENDED"))
    return Describe(Described.SOURCE, _subject(cursor, "a stream or table"), cursor.accept("EXTENDED"))


def _explain(cursor: Cursor) -> Explain:
    cursor.expect("EXPLAIN")
    if cursor.is_name and cursor.ahead(1) in {";", "end of text"}:
        return Explain(_subject(cursor))
    cursor.go_deeper()
    found = statement(cursor)
    cursor.come_up()
    return Explain(found)


def _print(cursor: Cursor) -> Print:
    cursor.expect("PRINT")
    topic = _resource(cursor, "a topic")
    from_beginning = cursor.accept("FROM", "BEGINNING")
    has_interval = cursor.accept("INTERVAL") or cursor.accept("SAMPLE")
    return Print(topic, from_beginning, whole_number(cursor) if has_interval else None, limit(cursor))


def _resource(cursor: Cursor, what: str) -> str:
    """Topics and subjects keep their case: they are not names of ours."""
    cursor.subject = cursor.at
    if cursor.kind == STRING:
        return cursor.string()
    is_plain, text = cursor.token.text[:1] not in {"`", '"'}, cursor.token.text
    name = cursor.name(what)
    return text if is_plain else name


def _control(cursor: Cursor) -> ControlQuery:
    action = QueryAction(cursor.take().kind)
    return ControlQuery(action, None if cursor.accept("ALL") else _subject(cursor, "the id of a query, or ALL"))


def _assert(cursor: Cursor) -> Statement:
    cursor.expect("ASSERT")
    exists = not cursor.accept("NOT", "EXISTS")
    if cursor.accept("TOPIC"):
        topic = _resource(cursor, "a topic")
        properties = _properties(cursor) if cursor.accept("WITH") else ()
        return AssertTopic(topic, exists, properties, _timeout(cursor))
    if not cursor.accept("SCHEMA"):
        raise cursor.error("expected TOPIC or SCHEMA", hint=assertion(cursor.token), expected=("TOPIC", "SCHEMA"))
    if cursor.kind not in {"SUBJECT", "ID"}:
        raise cursor.error("expected SUBJECT or ID", expected=("SUBJECT", "ID"))
    subject = _resource(cursor, "a subject") if cursor.accept("SUBJECT") else None
    id_ = literal(cursor) if cursor.accept("ID") else None
    return AssertSchema(subject, id_, exists, _timeout(cursor))


def _timeout(cursor: Cursor) -> Duration | None:
    return duration(cursor) if cursor.accept("TIMEOUT") else None


def _run(cursor: Cursor) -> RunScript:
    cursor.expect("RUN", "SCRIPT")
    return RunScript(_quoted_subject(cursor, "the name of a file in single quotes"))


def _spool(cursor: Cursor) -> Spool:
    cursor.take()
    if cursor.kind == NAME and cursor.token.text.upper() == "OFF":
        cursor.take()
        return Spool(None)
    return Spool(_quoted_subject(cursor, "the name of a file in single quotes, or OFF"))


_STATEMENTS: dict[str, Callable[[Cursor], Statement]] = {
    "SELECT": lambda cursor: Select(query(cursor)),
    "CREATE": _create,
    "INSERT": _insert,
    "DROP": _drop,
    "ALTER": _alter,
    "SET": _set,
    "UNSET": _unset,
    "DEFINE": _define,
    "UNDEFINE": _undefine,
    "SHOW": _show,
    "LIST": _show,
    "DESCRIBE": _describe,
    "EXPLAIN": _explain,
    "PRINT": _print,
    "TERMINATE": _control,
    "PAUSE": _control,
    "RESUME": _control,
    "ASSERT": _assert,
}
_COMMANDS: dict[str, Callable[[Cursor], Statement]] = {"RUN": _run, "SPOOL": _spool}
