"""Texts. Positions and lengths count UTF-16 units, as in Java."""

from __future__ import annotations

import hashlib
import re
import uuid

from headrace.sql.functions.declare import scalar
from headrace.sql.functions.sizes import check_length
from headrace.sql.types.java_maps import SizedMap
from headrace.sql.types.numbers import wrap32
from headrace.sql.types.trimming import trimmed
from headrace.sql.types.utf16 import joined, units

_WORD = re.compile(r"[^ \t\n\x0b\f\r]+[ \t\n\x0b\f\r]*")


@scalar("LCASE", "(STRING text) -> STRING", description="In lower case.")
def lower_case(text: str | None) -> str | None:
    return None if text is None else text.lower()


@scalar("UCASE", "(STRING text) -> STRING", description="In upper case.")
def upper_case(text: str | None) -> str | None:
    return None if text is None else text.upper()


@scalar("INITCAP", "(STRING text) -> STRING", description="Each word with a capital letter, the rest in lower case.")
def initial_capitals(text: str | None) -> str | None:
    if text is None:
        return None
    return "".join(word[0].upper() + word[1:] for word in _WORD.findall(text.lower()))


@scalar("TRIM", "(STRING text) -> STRING", description="Without space at both ends.")
def trim(text: str | None) -> str | None:
    return None if text is None else trimmed(text)


@scalar("LEN", "(STRING text) -> INTEGER", description="The number of characters.")
def length(text: str | None) -> int | None:
    return None if text is None else len(units(text))


@scalar("CONCAT", "(STRING... texts) -> STRING", description="The texts in a row; nulls count as nothing.")
def concat(*texts: str | None) -> str:
    return "".join(text for text in texts if text is not None)


@scalar("CONCAT_WS", "(STRING... separator_and_texts) -> STRING", description="The texts, with the first one between.")
def concat_with_separator(*texts: str | None) -> str | None:
    if len(texts) < 2:
        raise ValueError("CONCAT_WS needs a separator and at least one text")
    separator, *others = texts
    return None if separator is None else separator.join(text for text in others if text is not None)


@scalar(
    "SUBSTRING",
    "(STRING text, INTEGER start) -> STRING",
    description="What begins at a position, counted from 1 or from the end.",
)
def substring_from(text: str | None, start: int | None) -> str | None:
    if text is None or start is None:
        return None
    whole = units(text)
    return joined(whole[start_index(len(whole), start) :])


@scalar(
    "SUBSTRING",
    "(STRING text, INTEGER start, INTEGER length) -> STRING",
    description="So many characters of it.",
)
def substring(text: str | None, start: int | None, length: int | None) -> str | None:
    if text is None or start is None or length is None:
        return None
    whole = units(text)
    first = start_index(len(whole), start)
    return joined(whole[first : end_index(first, length)])


def start_index(length: int, position: int) -> int:
    """Where a position is, that counts from 1, or from the end if it is negative."""
    return max(length + position, 0) if position < 0 else max(min(position - 1, length), 0)


def end_index(start: int, length: int) -> int:
    """Where so much ends that begins there; the sum is one of 32 bits, so the longest of all lengths gives nothing."""
    return max(wrap32(start + length), start)


@scalar(
    "INSTR",
    "(STRING text, STRING part) -> INTEGER",
    "(STRING text, STRING part, INTEGER start) -> INTEGER",
    "(STRING text, STRING part, INTEGER start, INTEGER occurrence) -> INTEGER",
    description="Where a part is in a text, or 0; a negative start counts, and searches, from the end.",
)
def position_of(text: str | None, part: str | None, start: int | None = 1, occurrence: int | None = 1) -> int:
    if start is None or occurrence is None:
        raise ValueError("where INSTR begins and which part it means must not be null")
    if text is None or part is None:
        return 0
    text, part = units(text), units(part)
    if abs(start) > len(text):
        return 0
    if start >= 0:
        found = _ordinal_index(text[start - 1 :] if start else text[-1:], part, occurrence)
        return 0 if found < 0 else found + start
    found = _ordinal_index(text[::-1][-start - 1 :], part[::-1], occurrence)
    return 0 if found < 0 else len(text) + start - found - len(part) + 2


def _ordinal_index(text: str, part: str, occurrence: int) -> int:
    """Where the n-th occurrence begins; they may overlap."""
    if occurrence <= 0:
        return -1
    if not part:
        return 0
    found = -1
    for _ in range(occurrence):
        found = text.find(part, found + 1)
        if found < 0:
            return -1
    return found


@scalar("REPLACE", "(STRING text, STRING old, STRING new) -> STRING", description="With every old part replaced.")
def replace(text: str | None, old: str | None, new: str | None) -> str | None:
    return None if text is None or old is None or new is None else text.replace(old, new)


_PAD = "(STRING text, INTEGER length, STRING padding) -> STRING"


@scalar("LPAD", _PAD, description="Filled up on the left, or cut off on the right, to a length.")
def pad_left(text: str | None, length: int | None, padding: str | None) -> str | None:
    if text is None or length is None or not padding or length < 0:
        return None
    whole = units(text)
    return joined((_padding(units(padding), length - len(whole)) + whole)[:length])


@scalar("RPAD", _PAD, description="Filled up, or cut off, on the right to a length.")
def pad_right(text: str | None, length: int | None, padding: str | None) -> str | None:
    if text is None or length is None or not padding or length < 0:
        return None
    whole = units(text)
    return joined((whole + _padding(units(padding), length - len(whole)))[:length])


def _padding(padding: str, length: int) -> str:
    check_length(length)
    return (padding * (max(length, 0) // len(padding) + 1))[: max(length, 0)]


@scalar(
    "SPLIT",
    "(STRING text, STRING delimiter) -> ARRAY<STRING>",
    description="The parts; an empty delimiter splits characters.",
)
def split(text: str | None, delimiter: str | None) -> list[str] | None:
    if text is None or delimiter is None:
        return None
    return text.split(delimiter) if delimiter else list(text) or [""]


@scalar(
    "SPLIT_TO_MAP",
    "(STRING text, STRING entry_delimiter, STRING key_value_delimiter) -> MAP<STRING, STRING>",
    description="Keys and values out of a text; the last of equal keys counts.",
)
def split_to_map(text: str | None, between: str | None, within: str | None) -> dict[str, str] | None:
    if text is None or not between or not within or between == within:
        return None
    pairs = (entry.split(within) for entry in text.split(between) if within in entry)
    return SizedMap((key, value) for key, value, *_ in pairs)


@scalar("ELT", "(INTEGER index, STRING... texts) -> STRING", description="The text of an index that counts from 1.")
def element(index: int | None, *texts: str | None) -> str | None:
    if index is None:
        raise ValueError("the index of ELT must not be null")
    return texts[index - 1] if 1 <= index <= len(texts) else None


@scalar("FIELD", "(STRING text, STRING... texts) -> INTEGER", description="The index of a text among others, or 0.")
def field(text: str | None, *texts: str | None) -> int:
    return texts.index(text) + 1 if text is not None and text in texts else 0


@scalar("CHR", "(INTEGER code) -> STRING", description="The character of a code point.")
def character(code: int | None) -> str | None:
    return None if code is None or not 0 <= code <= 0x10FFFF else joined(chr(code))


@scalar("CHR", "(STRING escaped) -> STRING", description="The character of a text such as \\u004b.")
def unescaped_character(escaped: str | None) -> str | None:
    if escaped is None or len(units(escaped)) < 6 or not escaped.startswith("\\u"):
        return None
    return joined(_ESCAPE.sub(_unescape, escaped))


_ESCAPE = re.compile(r"\\(?:([0-3]?[0-7]{1,2})|(u+)\+?([0-9a-fA-F]{4})?|([bntfr\\\"\']))?")
_ESCAPED = {"b": "\b", "n": "\n", "t": "\t", "f": "\f", "r": "\r", "\\": "\\", '"': '"', "'": "'"}


def _unescape(found: re.Match[str]) -> str:
    octal, has_unicode, code, escaped = found.groups()
    if has_unicode and code is None:
        message = f"{found.string!r} has an escape without four hexadecimal digits"
        raise ValueError(message)
    if octal or code:
        return chr(int(octal, 8) if octal else int(code, 16))
    return _ESCAPED.get(escaped, "")


@scalar("MD5", "(STRING text) -> STRING", description="The MD5 hash in hexadecimal digits.")
def md5(text: str | None) -> str | None:
    return None if text is None else hashlib.md5(text.encode(errors="replace"), usedforsecurity=False).hexdigest()


@scalar("UUID", "() -> STRING", description="A random UUID.")
def random_uuid() -> str:
    return str(uuid.uuid4())


@scalar("UUID", "(BYTES bytes) -> STRING", description="The UUID of 16 bytes.")
def uuid_of(data: bytes | None) -> str | None:
    return None if data is None or len(data) != 16 else str(uuid.UUID(bytes=data))
