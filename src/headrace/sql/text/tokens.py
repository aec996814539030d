"""Characters to tokens."""

from __future__ import annotations

import re
from typing import NamedTuple

from headrace.sql.errors import error_at
from headrace.sql.keywords import KEYWORDS

NAME, QUOTED, STRING, INTEGER, DECIMAL, DOUBLE, VARIABLE, END = (
    "name", "quoted name", "string", "integer", "decimal", "double", "variable", "end of text",
)  # fmt: skip

_PATTERN = re.compile(
    r"""
      (?P<space>   [ \r\n\t]+ | --[^\r\n]*\r?\n? | /\*.*?\*/ )
    | (?P<double>  (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) [eE][+-]?[0-9]+ (?![A-Za-z0-9_@]) )
    | (?P<decimal> [0-9]+\.[0-9]* | \.[0-9]+ )
    | (?P<word>    [A-Za-z_][A-Za-z0-9_@]* | [0-9]+[A-Za-z_@][A-Za-z0-9_@]* )
    | (?P<integer> [0-9]+ )
    | (?P<string>  '(?:[^']|'')*' )
    | (?P<quoted>  "(?:[^"]|"")*" | `(?:[^`]|``)*` )
    | (?P<variable> \$\{[A-Za-z_][A-Za-z0-9_@]*\} )
    | (?P<symbol>  <> | != | <= | >= | \|\| | := | -> | => | [=<>+\-*/%()\[\],.;] )
    """,
    re.VERBOSE | re.DOTALL,
)
_UNCLOSED = {"'": "string", '"': "quoted name", "`": "quoted name", "/": "comment"}


class Token(NamedTuple):
    """``kind`` is the word itself for keywords (``SELECT``) and the characters for symbols (``:=``)."""

    kind: str
    text: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """The tokens of ``text``, an END last. What begins no token is a ``parse.syntax`` error."""
    found = []
    position, match = 0, _PATTERN.match
    while position < len(text):
        matched = match(text, position)
        if matched is None:
            raise _unreadable(text, position)
        start, position = position, matched.end()
        group = matched.lastgroup
        if group != "space":
            found.append(_token(group or "", matched.group(), start, position))
    found.append(Token(END, "", len(text), len(text)))
    return found


def _token(group: str, text: str, start: int, end: int) -> Token:
    if group == "symbol":
        return Token("<>" if text == "!=" else text, text, start, end)
    if group == "word":
        upper = text.upper()
        return Token(upper if upper in KEYWORDS else NAME, text, start, end)
    return Token(_KINDS[group], text, start, end)


_KINDS = {
    "double": DOUBLE, "decimal": DECIMAL, "integer": INTEGER, "string": STRING, "quoted": QUOTED, "variable": VARIABLE,
}  # fmt: skip


def _unreadable(text: str, position: int) -> Exception:
    character = text[position]
    what = _UNCLOSED.get(character)
    if what is not None:
        message = f"this {what} is not closed"
        return error_at(text, position, len(text), "parse.syntax", message)
    message = f"{character!r} means nothing here"
    hint = "Names with other characters than letters, digits, _ and @ are written in back-ticks."
    return error_at(text, position, position + 1, "parse.syntax", message, hint=hint)
