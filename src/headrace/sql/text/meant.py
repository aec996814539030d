"""What was probably meant, where a text cannot be read on."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.near_names import did_you_mean
from headrace.sql.text.tokens import NAME, QUOTED, Token

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
    "OFFSET": "There is no OFFSET: WHERE ROWOFFSET >= ... skips records.",
    "UNION": "There is no UNION: INSERT INTO ... SELECT sends the rows of several streams to one.",
}


def expected_word(wrong: Token, expected: Iterable[str]) -> str | None:
    """A hint at the one of the ``expected`` words that is nearest to what is there.

    >>> expected_word(Token(NAME, "FORM", 9, 13), ["FROM"])
    'Did you mean FROM?'
    """
    words = [word for word in expected if word.isalpha()]
    if words and wrong.text.upper() in _ABSENT:
        return _ABSENT[wrong.text.upper()]
    return did_you_mean(wrong.text.upper(), words, cutoff=_NEAR, shown=str) if wrong.text.isidentifier() else None


def likely_word(wrong: Token, before: Token | None) -> str | None:
    """A hint at a word of a query: what is there, or the name ``before``, which was taken for an alias.

    >>> likely_word(Token("ID", "id", 20, 22), Token(NAME, "were", 15, 19))
    'Did you mean WHERE instead of were?'
    """
    if wrong.kind == "=" and before is not None and before.kind == "=":
        return "Equality is one =."
    for token in (wrong, before):
        if token is None or token.kind != NAME:
            continue
        absent = _ABSENT.get(token.text.upper())
        if absent is not None:
            return absent
        near = did_you_mean(token.text.upper(), _CLAUSES, cutoff=_NEARLY_THE_SAME, shown=str)
        if near is not None:
            return near if token is wrong else near.replace("?", f" instead of {token.text}?")
    return None


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
