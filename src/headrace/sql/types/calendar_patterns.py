"""Dates by the patterns of java.text.SimpleDateFormat, read leniently: the 32nd of January is the 1st of February.

Only PARSE_DATE reads this way; all else reads java.time's patterns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache

from headrace.sql.types.time_names import FULL, NAMES, SHORT
from headrace.sql.types.times import DAY_MS, days_of
from headrace.sql.types.zones import zone_of

_TOKEN = re.compile(r"'((?:[^']|'')*)'|([A-Za-z])\2*|(.)", re.DOTALL)
_GREGORY = days_of(1582, 10, 15)
_NUMBERS = frozenset("yYMdDuHkKhmsSFwW")
_OFFSETS = {
    "Z": "[+-][0-9]{4}|GMT[+-][0-9]{2}:[0-9]{2}",
    "X": "Z|[+-][0-9]{2}(?::?[0-9]{2})?",
    "z": "[A-Za-z/_]+|GMT[+-][0-9:]+",
}


def parse_calendar_date(text: str, pattern: str) -> int:
    """The DATE of a text that begins as the pattern says; a time of day other than midnight is an error.

    >>> parse_calendar_date("1/2/1970", "d/M/yyyy"), parse_calendar_date("19700132", "yyyyMMdd")
    (31, 31)
    """
    fields: dict[str, int] = {}
    at = 0
    for read in _readers(pattern):
        at = read(text, at, fields)
        if at < 0:
            message = f"{text!r} does not follow the pattern {pattern!r}"
            raise ValueError(message)
    days, rest = divmod(_millis(fields), DAY_MS)
    if rest:
        message = f"{text!r} is a date with a time of day"
        raise ValueError(message)
    return days


def _millis(fields: dict[str, int]) -> int:
    year = fields.get("y", 1970)
    if fields.get("G") == 0:
        year = 1 - year
    months = year * 12 + fields.get("M", 1) - 1
    if "D" in fields and "d" not in fields:
        days = _days(year, 1, fields["D"])
    else:
        days = _days(months // 12, months % 12 + 1, fields.get("d", 1))
    hours = fields.get("H", fields.get("a", 0) * 12 + fields.get("K", 0))
    seconds = (hours * 60 + fields.get("m", 0)) * 60 + fields.get("s", 0)
    return days * DAY_MS + (seconds - fields.get("zone", 0)) * 1000 + fields.get("S", 0)


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970, by Julius' calendar before that of Gregory began in 1582."""
    days = days_of(year, month, 1) + day - 1
    if days >= _GREGORY:
        return days
    shifted = year - (month <= 2)
    return 365 * shifted + shifted // 4 + (153 * ((month + 9) % 12) + 2) // 5 + day - 1 - 719_470


Reader = Callable[[str, int, dict[str, int]], int]


@lru_cache(maxsize=1000)
def _readers(pattern: str) -> tuple[Reader, ...]:
    tokens = list(_TOKEN.finditer(pattern))
    if sum(len(token[0]) for token in tokens) != len(pattern):
        message = f"the pattern {pattern!r} does not close a quote"
        raise ValueError(message)
    return tuple(_reader(token, tokens[index + 1 : index + 2], pattern) for index, token in enumerate(tokens))


def _reader(token: re.Match[str], following: list[re.Match[str]], pattern: str) -> Reader:
    letter, count = token[2], len(token[0])
    if letter is None:
        quoted = token[1]
        text = token[3] if quoted is None else quoted.replace("''", "'") or "'"
        return _Literal(text).read
    if letter in _OFFSETS:
        return _Zone(_OFFSETS[letter]).read
    if letter in "EaG" or (letter in "ML" and count >= 3):
        return _Word({"E": "DAY_OF_WEEK", "a": "AMPM_OF_DAY", "G": "ERA"}.get(letter, "MONTH_OF_YEAR"), letter).read
    if letter not in _NUMBERS and letter != "L":
        message = f"the pattern {pattern!r} contains {letter!r}, which says nothing"
        raise ValueError(message)
    # Digits that belong together are told apart by their count only when another number follows at once.
    width = count if following and _is_number(following[0]) else 0
    return _Number("M" if letter == "L" else letter, count, width).read


def _is_number(token: re.Match[str]) -> bool:
    return token[2] is not None and (token[2] in _NUMBERS) and not (token[2] == "M" and len(token[0]) >= 3)


@dataclass(frozen=True, slots=True)
class _Literal:
    text: str

    def read(self, text: str, at: int, fields: dict[str, int]) -> int:
        return at + len(self.text) if text.startswith(self.text, at) else -1


@dataclass(frozen=True, slots=True)
class _Number:
    letter: str
    count: int
    width: int

    def read(self, text: str, at: int, fields: dict[str, int]) -> int:
        while not self.width and text[at : at + 1].isspace():
            at += 1
        end = at
        while end < len(text) and text[end].isdecimal() and (not self.width or end - at < self.width):
            end += 1
        if end == at:
            return -1
        letter, value = self._field(int(text[at:end]))
        fields[letter] = value
        return end

    def _field(self, value: int) -> tuple[str, int]:
        if self.letter in "yY":
            return "y", _full_year(value) if self.count <= 2 and value < 100 else value
        if self.letter in "kh":
            return {"k": "H", "h": "K"}[self.letter], 0 if value == {"k": 24, "h": 12}[self.letter] else value
        return self.letter, value


def _full_year(year: int) -> int:
    """A year of two digits is at most 80 years ago, and 20 years ahead."""
    earliest = datetime.now(timezone.utc).year - 80
    found = earliest - earliest % 100 + year
    return found if found >= earliest else found + 100


@dataclass(frozen=True, slots=True)
class _Word:
    field: str
    letter: str

    def read(self, text: str, at: int, fields: dict[str, int]) -> int:
        names = {name: value for style in (FULL, SHORT) for value, name in NAMES[self.field].get(style, {}).items()}
        for name, value in sorted(names.items(), key=lambda entry: -len(entry[0])):
            if text[at : at + len(name)].casefold() == name.casefold():
                fields["M" if self.letter in "ML" else self.letter] = value
                return at + len(name)
        return -1


@dataclass(frozen=True, slots=True)
class _Zone:
    expression: str

    def read(self, text: str, at: int, fields: dict[str, int]) -> int:
        found = re.compile(self.expression).match(text, at)
        if found is None:
            return -1
        fields["zone"] = zone_of(found[0]).offset_at(0)
        return found.end()
