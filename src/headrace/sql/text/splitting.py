"""A text in its statements, before any of them is read."""

from __future__ import annotations

from headrace.sql.text.tokens import END, tokens_of


def statements_of(text: str) -> list[tuple[int, str]]:
    r"""Each statement with its semicolon, and where it begins; what follows the last one is one without.

    >>> statements_of("SET 'a;b'='c'; -- a comment; really\nDROP TYPE t")
    [(0, "SET 'a;b'='c';"), (36, 'DROP TYPE t')]
    """
    found = []
    start = None
    for token in tokens_of(text):
        if token.kind == END:
            if start is not None:
                found.append((start, text[start:].rstrip()))
            break
        start = token.start if start is None else start
        if token.kind == ";":
            found.append((start, text[start : token.end]))
            start = None
    return found


def is_ended(text: str) -> bool:
    """Whether there is a statement, and the last one has its semicolon; one in an open comment is none.

    >>> is_ended("SHOW TABLES; -- all"), is_ended("SHOW TABLES -- all;"), is_ended("/* SHOW TABLES;")
    (True, False, False)
    """
    tokens = tokens_of(text)[:-1]
    opens = any(text[token.start : token.start + 2] == "/*" for token in tokens)
    return bool(tokens) and tokens[-1].kind == ";" and not opens
