"""Texts counted as Java counts them, in UTF-16 units.

Only characters above U+FFFF make a difference: they are two units in Java and one character in Python.
"""

from __future__ import annotations

import re

_HALF = re.compile("[\ud800-\udfff]")


def units(text: str) -> str:
    r"""``text`` with a character for every UTF-16 unit; most texts are that already.

    So written, texts are in the order of Java's ``String.compareTo``.

    >>> len(units("a\N{GRINNING FACE}"))
    3
    """
    if text.isascii() or max(text) <= "\uffff":
        return text
    data = text.encode("utf-16-le", "surrogatepass")
    return "".join(map(chr, memoryview(data).cast("H")))


def joined(text: str) -> str:
    r"""The opposite of ``units``: pairs of surrogates become one character again, and halves of pairs question marks.

    >>> joined(units("a\N{GRINNING FACE}")) == "a\N{GRINNING FACE}"
    True
    """
    if text.isascii() or max(text) < "\ud800":
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    # Java keeps half a pair until it writes bytes, and then writes a question mark.
    return _HALF.sub("?", whole)
