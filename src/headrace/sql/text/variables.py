"""``${name}`` in statements: the value of a variable takes its place before the statement is read.

In texts and quoted names it is taken as it is. Elsewhere it must be one literal or one name, so that a value never
becomes more of a statement than that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from headrace.near_names import did_you_mean
from headrace.sql.errors import error_at
from headrace.sql.text.tokens import QUOTED, STRING, VARIABLE, tokens_of

_USE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_@]*)\}")
_WHOLE = re.compile(
    r"""
      [+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?
    | '(?:[^']|'')*'
    | [A-Za-z_][A-Za-z0-9_@]*
    | `(?:[^`]|``)*` | "(?:[^"]|"")*"
    """,
    re.VERBOSE,
)


def substituted(text: str, variables: Mapping[str, str]) -> str:
    """The text with the values of variables, whose names are in upper case; what is not defined stays as it is.

    >>> substituted("SELECT ${col} FROM s WHERE t = 'a ${who}'", {"COL": "id", "WHO": "it's"})
    "SELECT id FROM s WHERE t = 'a it''s'"
    """
    if "${" not in text:
        return text
    parts, end = [], 0
    for token in tokens_of(text):
        if token.kind in (STRING, QUOTED) or token.kind == VARIABLE:
            is_bare = token.kind == VARIABLE
            new = _bare(text, token.start, token.end, variables) if is_bare else _inside(token.text, variables)
            parts += [text[end : token.start], new]
            end = token.end
    return "".join([*parts, text[end:]])


def _inside(quoted: str, variables: Mapping[str, str]) -> str:
    quote = quoted[0]

    def value(use: re.Match[str]) -> str:
        found = variables.get(use[1].upper())
        return use[0] if found is None else found.replace(quote, quote * 2)

    return quote + _USE.sub(value, quoted[1:-1]) + quote


def _bare(text: str, start: int, end: int, variables: Mapping[str, str]) -> str:
    name = text[start + 2 : end - 1].upper()
    value = variables.get(name)
    if value is None:
        # The parser says what is wrong with it, unless the name is nearly that of another one.
        near = did_you_mean(name, variables, shown=str)
        if near is None:
            return text[start:end]
        raise error_at(text, start, end, "name.variable", f"there is no variable {name}", hint=near)
    if not _WHOLE.fullmatch(value):
        message = f"the value of {name} is not one literal or one name: {value}"
        hint = "Where it stands for a text, write it in quotes: '${" + name.lower() + "}'."
        raise error_at(text, start, end, "variable.value", message, hint=hint)
    return value
