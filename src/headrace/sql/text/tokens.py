"""Characters to tokens."""

from __future__ import annotations

import re

import msgspec

from headrace.sql.errors import error_at
from headrace.sql.keywords import KEYWORDS

NAME, QUOTED, STRING, INTEGER, DECIMAL, DOUBLE, VARIABLE, END = (
    "name", "quoted name", "string", "integer", "decimal", "double", "variable", "end of text",
)  # fmt: skip

_PATTERN = re.compile(
    r"""
    [ \r\n\t]* (?:
      (?P<comment> --[^\r\n]*\r?\n? | /\*.*?\*/ )
    | (?P<double>  (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) [eE][+-]?[0-9]+ (?![A-Za-z0-9_@]) )
    | (?P<decimal> [0-9]+\.[0-9]* | \.[0-9]+ )
    | (?P<word>    [A-Za-z_][A-Za-z0-9_@]* | [0-9]+[A-Za-z_@][A-Za-z0-9_@]* )
    | (?P<integer> [0-9]+ )
    | (?P<string>  '(?:[^']|'')*' )
    | (?P<quoted>  "(?:[^"]|"")*" | `(?:[^`]|``)*` )
    | (?P<variable> \$\{[A-Za-z_][A-Za-z0-9_@]*\} )
    | (?P<symbol>  <> | != | <= | >= | \|\| | := | -> | => | [=<>+\-*/%()\[\],.;] )
    | (?P<end>     \Z )
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_TYPOGRAPHIC = "‘’‚‛“”„‟‹›«»"
_UNCLOSED = {"'": "string", '"': "quoted name", "`": "quoted name", "/": "comment"}


class Token(msgspec.Struct, frozen=True, gc=False):
    """``kind`` is the word itself for keywords (``SELECT``) and the characters for symbols (``:=``)."""

    kind: str
    text: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """The tokens of ``text``, an END last. What begins no token is a ``parse.syntax`` error."""
    found = []
    position, match, group = 0, _PATTERN.match, ""
    while group != "end":
        matched = match(text, position)
        if matched is None:
            raise _unreadable(text, position)
        group = matched.lastgroup or ""
        start, position = matched.span(group)
        if group != "comment":
            written = text[start:position]
            found.append(Token(_kind(group, written), written, start, position))
    return found


def _kind(group: str, text: str) -> str:
    if group == "word":
        upper = text.upper()
        return upper if upper in KEYWORDS else NAME
    if group == "symbol":
        return "<>" if text == "!=" else text
    return _KINDS[group]


_KINDS = {
    "double": DOUBLE, "decimal": DECIMAL, "integer": INTEGER, "string": STRING, "quoted": QUOTED, "variable": VARIABLE,
    "end": END,
}  # fmt: skip


def _unreadable(text: str, position: int) -> Exception:
    position += len(text[position:]) - len(text[position:].lstrip(" \r\n\t"))
    character = text[position]
    what = _UNCLOSED.get(character)
    if what is not None:
        message = f"this {what} is not closed"
        return error_at(text, position, len(text), "parse.syntax", message)
    message = f"{character!r} means nothing here"
    hint = "Names with other characters than letters, digits, _ and @ are written in back-ticks."
    if character in _TYPOGRAPHIC:
        hint = "Quotes are straight: 'a text', `a name`."
    return error_at(text, position, position + 1, "parse.syntax", message, hint=hint)
