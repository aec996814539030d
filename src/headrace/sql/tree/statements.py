"""Statements, one class each."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from headrace.sql.errors import NOWHERE
from headrace.sql.tree.expressions import Expression, Literal
from headrace.sql.tree.queries import Duration, Query
from headrace.sql.tree.types import SqlType

Properties: TypeAlias = tuple[tuple[str, Literal], ...]
"""WITH: names as they were written, unquoted ones in upper case, and their values."""


class SourceKind(Enum):
    """A stream or a table."""

    STREAM = "STREAM"
    TABLE = "TABLE"


class Role(Enum):
    """What a column is, apart from a part of the value."""

    KEY = "KEY"
    PRIMARY_KEY = "PRIMARY KEY"
    HEADERS = "HEADERS"
    HEADER = "HEADER"


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column of a new source; ``header`` is the name of the header that it shows."""

    name: str
    type: SqlType
    role: Role | None = None
    header: str | None = None
    at: int = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Select:
    """A query by itself."""

    query: Query


@dataclass(frozen=True, slots=True)
class CreateSource:
    """CREATE STREAM or TABLE over a topic."""

    kind: SourceKind
    name: str
    columns: tuple[ColumnDefinition, ...] = ()
    properties: Properties = ()
    or_replace: bool = False
    is_read_only: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateAs:
    """CREATE STREAM or TABLE AS SELECT."""

    kind: SourceKind
    name: str
    query: Query
    properties: Properties = ()
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class InsertInto:
    """INSERT INTO a stream what a query gives."""

    target: str
    query: Query
    properties: Properties = ()


@dataclass(frozen=True, slots=True)
class InsertValues:
    """INSERT INTO a source one row."""

    target: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]
    columns_at: tuple[int, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DropSource:
    """DROP STREAM or TABLE."""

    kind: SourceKind
    name: str
    if_exists: bool = False
    delete_topic: bool = False


@dataclass(frozen=True, slots=True)
class AlterSource:
    """ALTER STREAM or TABLE: more columns."""

    kind: SourceKind
    name: str
    columns: tuple[ColumnDefinition, ...]


@dataclass(frozen=True, slots=True)
class CreateType:
    """A name for a type."""

    name: str
    type: SqlType
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropType:
    """The name is free again."""

    name: str
    if_exists: bool = False


class ConnectorKind(Enum):
    """Which way records go through a connector."""

    SOURCE = "SOURCE"
    SINK = "SINK"


@dataclass(frozen=True, slots=True)
class CreateConnector:
    """CREATE SOURCE or SINK CONNECTOR."""

    kind: ConnectorKind
    name: str
    properties: Properties
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropConnector:
    """DROP CONNECTOR."""

    name: str
    if_exists: bool = False


class Listed(Enum):
    """What SHOW shows."""

    PROPERTIES = "PROPERTIES"
    TOPICS = "TOPICS"
    ALL_TOPICS = "ALL TOPICS"
    STREAMS = "STREAMS"
    TABLES = "TABLES"
    FUNCTIONS = "FUNCTIONS"
    CONNECTORS = "CONNECTORS"
    SOURCE_CONNECTORS = "SOURCE CONNECTORS"
    SINK_CONNECTORS = "SINK CONNECTORS"
    CONNECTOR_PLUGINS = "CONNECTOR PLUGINS"
    TYPES = "TYPES"
    VARIABLES = "VARIABLES"
    QUERIES = "QUERIES"


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW or LIST."""

    what: Listed
    is_extended: bool = False


class Described(Enum):
    """What DESCRIBE describes."""

    SOURCE = ""
    STREAMS = "STREAMS"
    TABLES = "TABLES"
    FUNCTION = "FUNCTION"
    CONNECTOR = "CONNECTOR"


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE one thing by its name, or all streams or tables."""

    what: Described
    name: str | None = None
    is_extended: bool = False


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN a statement or a running query."""

    subject: Statement | str


@dataclass(frozen=True, slots=True)
class Print:
    """PRINT a topic."""

    topic: str
    from_beginning: bool = False
    interval: int | None = None
    limit: int | None = None


class QueryAction(Enum):
    """What happens to a running query."""

    TERMINATE = "TERMINATE"
    PAUSE = "PAUSE"
    RESUME = "RESUME"


@dataclass(frozen=True, slots=True)
class ControlQuery:
    """TERMINATE, PAUSE or RESUME; None is ALL."""

    action: QueryAction
    query_id: str | None


@dataclass(frozen=True, slots=True)
class SetProperty:
    """SET, or ALTER SYSTEM for everybody."""

    name: str
    value: str
    for_system: bool = False


@dataclass(frozen=True, slots=True)
class UnsetProperty:
    """UNSET."""

    name: str


@dataclass(frozen=True, slots=True)
class Define:
    """DEFINE a variable."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Undefine:
    """UNDEFINE a variable."""

    name: str


@dataclass(frozen=True, slots=True)
class AssertTopic:
    """ASSERT [NOT EXISTS] TOPIC."""

    topic: str
    exists: bool = True
    properties: Properties = ()
    timeout: Duration | None = None


@dataclass(frozen=True, slots=True)
class AssertSchema:
    """ASSERT [NOT EXISTS] SCHEMA."""

    subject: str | None
    id: Literal | None
    exists: bool = True
    timeout: Duration | None = None


@dataclass(frozen=True, slots=True)
class RunScript:
    """RUN SCRIPT: the statements of a file in its place."""

    file: str


@dataclass(frozen=True, slots=True)
class Spool:
    """SPOOL: keep what is shown in a file; None is OFF."""

    file: str | None


Statement: TypeAlias = (
    Select
    | CreateSource
    | CreateAs
    | InsertInto
    | InsertValues
    | DropSource
    | AlterSource
    | CreateType
    | DropType
    | CreateConnector
    | DropConnector
    | Show
    | Describe
    | Explain
    | Print
    | ControlQuery
    | SetProperty
    | UnsetProperty
    | Define
    | Undefine
    | AssertTopic
    | AssertSchema
    | RunScript
    | Spool
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A statement with its own text, and where it stood: at ``start`` of the text ``within``, which ``file`` holds.

    ``subject`` is where the name stands of what it is about, if it has one. ``script`` is what remembers that it was
    executed, where it is not to be executed again.
    """

    statement: Statement
    text: str
    start: int = field(default=0, compare=False)
    within: str = field(default="", compare=False)
    subject: int | None = field(default=None, compare=False)
    file: str | None = field(default=None, compare=False)
    script: str | None = field(default=None, compare=False)
