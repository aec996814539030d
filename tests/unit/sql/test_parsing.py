"""Text to trees: what the grammar says, and where an error is."""

from __future__ import annotations

from decimal import Decimal

import pytest

from headrace.sql import SqlError, parse, parse_expression
from headrace.sql.text.format import shown
from headrace.sql.tree.expressions import (
    Call,
    Column,
    DecimalLiteral,
    DoubleLiteral,
    Expression,
    IntegerLiteral,
    Lambda,
    LambdaVariable,
    LongLiteral,
    TimeUnit,
)
from headrace.sql.tree.queries import AllColumns, AllFields, Emit, JoinKind, Query, Source, Window, WindowKind
from headrace.sql.tree.statements import (
    ControlQuery,
    CreateAs,
    CreateSource,
    Describe,
    Described,
    Explain,
    InsertInto,
    InsertValues,
    Listed,
    Print,
    QueryAction,
    Role,
    Select,
    Show,
    SourceKind,
    Statement,
)
from headrace.sql.tree.types import BIGINT, INTEGER, STRING, Array, Field, Map, Registered, Struct


def one(text: str) -> Statement:
    (parsed,) = parse(text)
    return parsed.statement


def query(text: str) -> Query:
    statement = one(text)
    assert isinstance(statement, Select)
    return statement.query


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a + b * c", "(A + (B * C))"),
        ("a - b - c", "((A - B) - C)"),
        ("(a + b) * c", "((A + B) * C)"),
        ("a || b || c", "CONCAT(CONCAT(A, B), C)"),
        ("a || b + 1", "CONCAT(A, (B + 1))"),
        ("NOT a AND b OR c", "(((NOT A) AND B) OR C)"),
        ("NOT NOT a", "(NOT (NOT A))"),
        ("a = 1 AND b != 2", "((A = 1) AND (B <> 2))"),
        ("x BETWEEN 1 AND 2 AND y", "((X BETWEEN 1 AND 2) AND Y)"),
        ("x NOT BETWEEN 1 AND 2", "(NOT (X BETWEEN 1 AND 2))"),
        ("x NOT IN (1, 'a')", "(NOT (X IN (1, 'a')))"),
        ("x LIKE 'a!%' ESCAPE '!'", "(X LIKE 'a!%' ESCAPE '!')"),
        ("x IS NOT DISTINCT FROM y", "(NOT (X IS DISTINCT FROM Y))"),
        ("x IS NOT NULL", "(X IS NOT NULL)"),
        ("-a", "-A"),
        ("- -1", "- -1"),
        ("a -1", "(A - 1)"),
        ("s->a->b[1]['k']", "S->A->B[1]['k']"),
        ("s.a", "S.A"),
        ("ARRAY[1, NULL]", "ARRAY[1, null]"),
        ("MAP('a' := 1)", "MAP('a':=1)"),
        ("STRUCT(a := 1, `b` := TRUE)", "STRUCT(A:=1, `b`:=true)"),
        ("CAST(a AS DECIMAL(4, 2))", "CAST(A AS DECIMAL(4, 2))"),
        ("CASE WHEN a THEN 1 ELSE 2 END", "(CASE WHEN A THEN 1 ELSE 2 END)"),
        ("count(*)", "COUNT(*)"),
        ('`from` + "say ""x"""', '(`from` + `say "x"`)'),
        ("'it''s'", "'it''s'"),
        ("1R", "1R"),
        ("DECIMAL '1.2'", "DECIMAL '1.2'"),
        ("1E10 + 15e-1", "(1E10 + 1.5E0)"),
        ("(x, y) => x + z", None),
    ],
)
def test_an_expression_has_one_canonical_text_that_reads_back_as_the_same_tree(
    text: str, canonical: str | None
) -> None:
    if canonical is None:
        text, canonical = f"reduce(m, {text})", "REDUCE(M, (X, Y) => (X + Z))"
    tree = parse_expression(text)
    assert shown(tree) == canonical
    assert parse_expression(canonical) == tree


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("2147483647", IntegerLiteral(2147483647)),
        ("-2147483648", IntegerLiteral(-2147483648)),
        ("2147483648", LongLiteral(2147483648)),
        ("-9223372036854775808", LongLiteral(-9223372036854775808)),
        ("007", IntegerLiteral(7)),
        ("1.50", DecimalLiteral(Decimal("1.50"))),
        (".5", DecimalLiteral(Decimal("0.5"))),
        ("1.", DecimalLiteral(Decimal("1"))),
        ("1e3", DoubleLiteral(1000.0)),
    ],
)
def test_a_number_is_of_the_type_its_text_says(text: str, literal: Expression) -> None:
    assert parse_expression(text) == literal


def test_parameters_of_a_lambda_are_no_columns_inside_it() -> None:
    tree = parse_expression("TRANSFORM(x, x => x + y)")
    assert isinstance(tree, Call)
    column, function = tree.arguments
    assert column == Column("X")
    assert isinstance(function, Lambda)
    assert shown(function.body) == "(X + Y)"
    assert getattr(function.body, "left", None) == LambdaVariable("X")
    assert getattr(function.body, "right", None) == Column("Y")


def test_a_unit_of_time_may_be_an_argument() -> None:
    tree = parse_expression("DATEADD(DAYS, 5, d)")
    assert isinstance(tree, Call)
    assert tree.arguments[0] == TimeUnit("DAYS")


def test_all_clauses_of_a_query() -> None:
    found = query(
        "SELECT a.*, b->*, c AS d FROM s a LEFT JOIN t ON a.id = t.id"
        " WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 2 HOURS) WHERE x > 1 GROUP BY (y, z)"
        " HAVING COUNT(*) > 1 EMIT FINAL LIMIT 3;"
    )
    assert found.items[:2] == (AllColumns("A"), AllFields(Column("B")))
    assert found.source == Source("S", "A")
    assert [join.kind for join in found.joins] == [JoinKind.LEFT]
    assert isinstance(found.window, Window)
    assert (found.window.kind, found.window.size.ms) == (WindowKind.TUMBLING, 60_000)
    assert found.window.grace is not None
    assert found.window.grace.ms == 7_200_000
    assert found.group_by == (Column("Y"), Column("Z"))
    assert (found.emit, found.limit) == (Emit.FINAL, 3)


def test_emit_and_partition_are_names_unless_their_clause_follows() -> None:
    assert query("SELECT * FROM s EMIT CHANGES;").source == Source("S")
    assert query("SELECT * FROM s emit EMIT CHANGES;").source == Source("S", "EMIT")
    assert query("SELECT * FROM s PARTITION BY a EMIT CHANGES;").partition_by == (Column("A"),)


def test_a_parenthesis_after_group_by_is_a_list_or_an_expression() -> None:
    assert query("SELECT 1 FROM s GROUP BY (a);").group_by == (Column("A"),)
    assert len(query("SELECT 1 FROM s GROUP BY (a IS NULL), b;").group_by) == 2
    assert query("SELECT 1 FROM s GROUP BY f(a, b);").group_by == (Call("F", (Column("A"), Column("B"))),)


def test_create_with_every_kind_of_column() -> None:
    statement = one(
        "CREATE OR REPLACE SOURCE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, a VARCHAR(10),"
        " b ARRAY<MAP<STRING, BIGINT>>, c STRUCT<x INT, `y` address>, h BYTES HEADER('k'), i INT ARRAY)"
        " WITH (kafka_topic='t', 'partitions'=3);"
    )
    assert isinstance(statement, CreateSource)
    assert (statement.kind, statement.or_replace, statement.is_read_only) == (SourceKind.TABLE, True, True)
    types = {column.name: column.type for column in statement.columns}
    assert types == {
        "ID": INTEGER,
        "A": STRING,
        "B": Array(Map(STRING, BIGINT)),
        "C": Struct((Field("X", INTEGER), Field("y", Registered("ADDRESS")))),
        "H": types["H"],
        "I": Array(INTEGER),
    }
    assert (statement.columns[0].role, statement.columns[4].role) == (Role.PRIMARY_KEY, Role.HEADER)
    assert statement.columns[4].header == "k"
    assert [name for name, _ in statement.properties] == ["KAFKA_TOPIC", "partitions"]


def test_statements_by_their_first_words() -> None:
    assert isinstance(one("CREATE STREAM s WITH (format='JSON') AS SELECT * FROM t;"), CreateAs)
    assert isinstance(one("INSERT INTO s SELECT * FROM t;"), InsertInto)
    assert isinstance(one("INSERT INTO s (a, b) VALUES (1, 'x');"), InsertValues)
    assert one("list all topics extended;") == Show(Listed.ALL_TOPICS, is_extended=True)
    assert one("SHOW SOURCE CONNECTORS;") == Show(Listed.SOURCE_CONNECTORS)
    assert one("DESCRIBE s EXTENDED;") == Describe(Described.SOURCE, "S", is_extended=True)
    assert one("DESCRIBE FUNCTION abs;") == Describe(Described.FUNCTION, "ABS")
    assert one("DESCRIBE function;") == Describe(Described.SOURCE, "FUNCTION")
    assert one("EXPLAIN csas_a_1;") == Explain("CSAS_A_1")
    assert one("TERMINATE ALL;") == ControlQuery(QueryAction.TERMINATE, None)
    assert one("PRINT my_Topic FROM BEGINNING LIMIT 2;") == Print("my_Topic", from_beginning=True, limit=2)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER STREAM s ADD COLUMN a INT, ADD b STRING;",
        "ALTER SYSTEM 'a'='b';",
        "ASSERT NOT EXISTS TOPIC t WITH (partitions=3) TIMEOUT 5 SECONDS;",
        "ASSERT SCHEMA SUBJECT s ID 3;",
        "CREATE SINK CONNECTOR IF NOT EXISTS c WITH ('a.b'='c');",
        "CREATE TYPE a AS STRUCT<>;",
        "DEFINE a = 'b'; UNDEFINE a;",
        "DROP TABLE IF EXISTS t DELETE TOPIC; DROP TYPE IF EXISTS a; DROP CONNECTOR c;",
        "PAUSE a; RESUME `a`;",
        "SELECT * FROM a JOIN b WITHIN (1 SECOND, 2 DAYS) GRACE PERIOD 3 HOURS ON a.x = b.y EMIT CHANGES;",
        "SELECT 1 FROM a WINDOW HOPPING (SIZE 3 DAYS, ADVANCE BY 1 DAY, RETENTION 9 DAYS) GROUP BY x;",
        "SELECT 1 FROM a WINDOW SESSION (3 MINUTES) GROUP BY x;",
        "SET 'a'='b'; UNSET 'a'; -- a comment\n/* another */ SHOW QUERIES EXTENDED;",
    ],
)
def test_the_canonical_text_of_a_statement_reads_back_as_the_same_tree(text: str) -> None:
    for parsed in parse(text):
        assert parsed.text in text
        assert [again.statement for again in parse(shown(parsed.statement) + ";")] == [parsed.statement]


@pytest.mark.parametrize(
    ("text", "code", "place", "message"),
    [
        ("SELECT * FROM s WHERE;", "parse.syntax", "1:22", "expected an expression, found ';'"),
        ("SELECT *\nFROM s\nORDER BY a;", "parse.syntax", "3:7", "expected ';', found 'BY'"),
        ("SELECT * FROM select;", "parse.syntax", "1:15", "expected a stream or table, found 'select'"),
        ("SELECT a FROM s", "parse.syntax", "1:16", "expected ';', the text ends"),
        ("SELECT 'a FROM s;", "parse.syntax", "1:8", "this string is not closed"),
        ("SELECT a\u00e9 FROM s;", "parse.syntax", "1:9", "'é' means nothing here"),
        ("SELECT CAST(a AS NULL) FROM s;", "parse.syntax", "1:18", "expected a type, found 'NULL'"),
        ("SELECT 9223372036854775808 FROM s;", "parse.literal-range", "1:8", "this number needs more than 64 bits"),
        ("SELECT 1e999 FROM s;", "parse.literal-range", "1:8", "1e999 is too large for a DOUBLE"),
        ("CREATE STREAM s (a DECIMAL(2, 3));", "type.decimal", "1:27", "DECIMAL(2, 3) cannot be"),
        ("SELECT ${x} FROM s;", "parse.syntax", "1:8", "expected an expression, found '${x}'"),
        ("SELECT 1 FROM a GROUP BY c, (a, b);", "parse.syntax", "1:31", "expected ')', found ','"),
        ("ORDER BY a;", "parse.syntax", "1:1", "expected a statement, found 'ORDER'"),
        ("SELECT a LIKE b ESCAPE 'xy' FROM s;", "parse.escape", "1:17", "ESCAPE takes exactly one character"),
    ],
)
def test_an_error_has_a_code_a_place_and_the_fragment(text: str, code: str, place: str, message: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(text)
    assert (caught.value.code, str(caught.value.place)) == (code, place)
    assert message in caught.value.message
    assert "^" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 500 + "1" + ")" * 500,
        "- " * 500 + "a",
        "NOT " * 500 + "a",
        "a" + " + a" * 5_000,
        "a" + "[1]" * 500,
        "a IN (" * 500,
        "CAST(a AS " + "ARRAY<" * 500,
        "(" * 3 + "a" + f"{' + a' * 150})" * 3,
    ],
)
def test_what_is_nested_too_deep_is_an_error_of_the_statement(text: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse_expression(text)
    assert caught.value.code == "parse.too-deep"


def test_the_shown_line_of_a_long_statement_is_short() -> None:
    with pytest.raises(SqlError) as caught:
        parse("SELECT " + ", ".join(f"c{number}" for number in range(1_000)) + " FROM s WHERE;")
    assert max(map(len, str(caught.value).splitlines())) < 130
