"""What was probably meant, where a text cannot be read on."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.near_names import did_you_mean
from headrace.sql.text.tokens import NAME, QUOTED, Token
from headrace.sql.tree.types import BY_NAME

_WORDS = """
SELECT FROM WHERE GROUP PARTITION HAVING WINDOW TUMBLING HOPPING SESSION EMIT CHANGES FINAL LIMIT JOIN INNER LEFT RIGHT
FULL OUTER WITHIN INSERT INTO WITH STREAM TABLE BETWEEN DISTINCT
"""
_CLAUSES = tuple(_WORDS.split())
"""Words that only have to be misspelt to be read as an alias."""
_NEAR, _NEARLY_THE_SAME = 0.6, 0.74
_ABSENT = {
    "UPDATE": "There is no UPDATE: INSERT INTO a row of the same key, which takes the place of the one before.",
    "DELETE": "There is no DELETE: a row of a table goes with a record of its key and no value in the topic.",
    "ORDER": "There is no ORDER BY: sort the rows where they are used.",
    "OFFSET": "There is no OFFSET: skip the first rows where they are used.",
    "UNION": "There is no UNION: INSERT INTO ... SELECT sends the rows of several streams to one.",
}
_ABSENT_STATEMENTS = _ABSENT | {
    "TRUNCATE": "There is no TRUNCATE: DROP ... DELETE TOPIC; and create it anew.",
    "VIEW": "A table that a query makes is a view that is kept up to date: CREATE TABLE ... AS SELECT.",
    "INDEX": "There is no INDEX: a table is found by its key.",
    "CONNECTOR": "A connector is a SOURCE CONNECTOR or a SINK CONNECTOR.",
    "HELP": r"\help shows what statements look like, in the shell.",
}
_OF_THE_TESTING_TOOL = {
    "VALUES": "Compare rows by SELECT * FROM ...; in Python, with Database(..., engine='local') and run_until_idle().",
    "NULL": "Look for a record without a value by PRINT, or ask SELECT * FROM ...; whether its key is gone.",
    "STREAM": "DESCRIBE tells its columns, DESCRIBE ... EXTENDED also its topic and formats.",
    "TABLE": "DESCRIBE tells its columns, DESCRIBE ... EXTENDED also its topic and formats.",
}
"""What follows ASSERT in files for ksqlDB's testing tool, which its server does not take, and what to do here."""
UNITS_HINT = "Units of time are DAYS, HOURS, MINUTES, SECONDS and MILLISECONDS."
NO_SUBQUERY = "No query is inside of another: make it a table by CREATE TABLE ... AS SELECT, and join that."
_NO_EXPRESSIONS = {
    "SELECT": NO_SUBQUERY,
    "DISTINCT": "There is no DISTINCT: GROUP BY makes one row of each value, COUNT_DISTINCT(...) counts the values.",
    "MONTHS": UNITS_HINT,
    "YEARS": UNITS_HINT,
}
_BEHIND_LISTS = {"FROM", "WHERE", "GROUP", "HAVING", "LIMIT"}
_CONSTRAINTS = {
    "NOT": "There is no NOT NULL: every column but a PRIMARY KEY may be null.",
    "NULL": "Every column but a PRIMARY KEY may be null, without a word.",
    "DEFAULT": "There is no DEFAULT: a column without a value is null, and IFNULL says what is read instead.",
    "UNIQUE": "There is no UNIQUE: only the key of a table has one row for each value.",
    "REFERENCES": "There is no REFERENCES: nothing checks keys of other tables.",
    "CHECK": "There is no CHECK: WHERE of a query lets through what fits.",
}


def expected_word(wrong: Token, expected: Iterable[str]) -> str | None:
    """A hint at the one of the ``expected`` words that is nearest to what is there.

    >>> expected_word(Token(NAME, "FORM", 9, 13), ["FROM"])
    'Did you mean FROM?'
    """
    words = [word for word in expected if word.isalpha()]
    if words and wrong.text.upper() in _ABSENT_STATEMENTS:
        return _ABSENT_STATEMENTS[wrong.text.upper()]
    return did_you_mean(wrong.text.upper(), words, cutoff=_NEAR, shown=str) if wrong.text.isidentifier() else None


def likely_word(wrong: Token, before: Token | None) -> str | None:
    """A hint at a word of a query: what is there, or the name ``before``, which was taken for an alias.

    >>> likely_word(Token("ID", "id", 20, 22), Token(NAME, "were", 15, 19))
    'Did you mean WHERE instead of were?'
    """
    if wrong.kind == "=" and before is not None and before.kind == "=":
        return "Equality is one =."
    for token in (wrong, before):
        if token is None or token.kind != NAME or token.text.upper() in BY_NAME:
            continue
        absent = _ABSENT.get(token.text.upper())
        if absent is not None:
            return absent
        near = did_you_mean(token.text.upper(), _CLAUSES, cutoff=_NEARLY_THE_SAME, shown=str)
        if near is not None:
            return near if token is wrong else near.replace("?", f" instead of {token.text}?")
    return None


def no_expression(wrong: Token, before: Token | None) -> str | None:
    """A hint for a word that begins no expression, and is not meant as a name."""
    if before is not None and before.kind == "," and wrong.kind in _BEHIND_LISTS:
        return f"There is a comma too many before {wrong.kind}."
    return _NO_EXPRESSIONS.get(wrong.kind)


def assertion(token: Token) -> str | None:
    """A hint for an ASSERT that only ksqlDB's testing tool has."""
    instead = _OF_THE_TESTING_TOOL.get(token.kind)
    if instead is None:
        return None
    what = "NULL VALUES" if token.kind == "NULL" else token.kind
    return f"ASSERT {what} is for ksqlDB's testing tool only; statements are ASSERT TOPIC and ASSERT SCHEMA. {instead}"


def constraint(token: Token) -> str | None:
    """A hint for what other dialects say of a column behind its type."""
    return _CONSTRAINTS.get(token.text.upper())


def as_text(token: Token) -> str | None:
    """A hint for a name where a text stands: quotes are single.

    >>> as_text(Token(QUOTED, '"tea"', 9, 14))
    "A text is written in single quotes: 'tea'."
    """
    if token.kind == QUOTED and token.text[0] == '"':
        return single_quoted(token.text[1:-1].replace('""', '"'))
    return single_quoted(token.text) if token.kind == NAME or token.text.isidentifier() else None


def single_quoted(text: str) -> str:
    """A hint with ``text`` as a literal."""
    return "A text is written in single quotes: '" + text.replace("'", "''") + "'."
