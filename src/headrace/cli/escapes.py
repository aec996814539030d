r"""Backslash escapes of delimiters and formats: ``\n``, ``\t``, ``\r``, ``\0``, ``\\``, ``\x1f``."""

from __future__ import annotations

import re

_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"0": b"\0", b"\\": b"\\"}


def unescaped(text: str) -> bytes:
    r"""The bytes that ``text`` stands for; an unknown escape stays as it is.

    >>> unescaped(r"a\tb\x00\q")
    b'a\tb\x00\\q'
    """
    return _ESCAPE.sub(_character, text.encode(errors="surrogateescape"))


def _character(found: re.Match[bytes]) -> bytes:
    if found[1].startswith(b"x") and len(found[1]) == 3:
        return bytes([int(found[1][1:], 16)])
    return _LETTERS.get(found[1], found[0])
