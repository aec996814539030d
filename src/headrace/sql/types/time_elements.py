"""The parts of a time pattern: each writes a piece of a moment, and reads it back.

``read`` answers where the piece ends, or -1 if the text does not go on like this.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol
from zoneinfo import available_timezones

from headrace.sql.types.time_fields import SECOND, Moment, Parsed
from headrace.sql.types.time_names import FULL, NAMES, SHORT, ZONES
from headrace.sql.types.zones import Zone, offset_text, zone_of

FAILED = -1


class Element(Protocol):
    """A part of a pattern."""

    def write(self, moment: Moment) -> str: ...

    def read(self, text: str, at: int, parsed: Parsed) -> int: ...


@dataclass(frozen=True, slots=True)
class Literal:
    """A text that stands for itself."""

    text: str

    def write(self, moment: Moment) -> str:
        return self.text

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        end = at + len(self.text)
        return end if text[at:end].casefold() == self.text.casefold() else FAILED


@dataclass(frozen=True, slots=True)
class Number:
    """A field in digits, from ``least`` to ``most`` of them."""

    field: str
    least: int
    most: int
    sign: str = "never"
    """``never``, ``minus`` for negative numbers only, or ``exceeds``: a plus when there are more than ``least``."""
    follow: int = 0
    """Digits that belong to the fields right behind."""

    @property
    def is_fixed(self) -> bool:
        return self.least == self.most and self.sign == "never"

    def write(self, moment: Moment) -> str:
        value = self._shown(moment.get(self.field))
        digits = str(abs(value)).rjust(self.least, "0")
        if len(digits) > self.most or (value < 0 and self.sign == "never"):
            message = f"{value} is too long for a {self.field.lower().replace('_', ' ')} of this pattern"
            raise ValueError(message)
        if value < 0:
            return "-" + digits
        return "+" + digits if self.sign == "exceeds" and len(digits) > self.least else digits

    def _shown(self, value: int) -> int:
        return value

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        sign = text[at : at + 1]
        if sign == "+" and self.sign != "exceeds":
            return FAILED
        if sign == "-" and self.sign == "never":
            return FAILED
        first = at + (sign in ("+", "-"))
        end = first
        limit = first + self.most + self.follow
        while end < min(limit, len(text)) and "0" <= text[end] <= "9":
            end += 1
        end = max(end - self.follow, first + self.least) if self.follow else end
        count = end - first
        if count < self.least or not text[first:end].isdecimal() or not self._sign_fits(sign, count):
            return FAILED
        value = int(text[first:end])
        if sign == "-" and value == 0:
            return FAILED
        return end if self._take(-value if sign == "-" else value, parsed) else FAILED

    def _sign_fits(self, sign: str, count: int) -> bool:
        if self.sign != "exceeds" or sign == "-":
            return True
        return count > self.least if sign == "+" else count <= self.least

    def _take(self, value: int, parsed: Parsed) -> bool:
        return parsed.put(self.field, value)


class TwoDigitYear(Number):
    """A year of this century, by its last two digits."""

    __slots__ = ()

    def _shown(self, value: int) -> int:
        return abs(value) % 100

    def _take(self, value: int, parsed: Parsed) -> bool:
        return parsed.put(self.field, 2000 + value)


class Fraction(Number):
    """A fraction of a second."""

    __slots__ = ()

    def write(self, moment: Moment) -> str:
        return f"{moment.get(self.field):09}".ljust(self.least, "0")[: self.least]

    def _take(self, value: int, parsed: Parsed) -> bool:
        return parsed.put(self.field, value * SECOND // 10**self.least)


@dataclass(frozen=True, slots=True)
class Text:
    """A field as a word."""

    field: str
    style: str

    def write(self, moment: Moment) -> str:
        return NAMES[self.field][self.style][moment.get(self.field)]

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        for name, value in _words(self.field, self.style):
            if text[at : at + len(name)].casefold() == name.casefold():
                return at + len(name) if parsed.put(self.field, value) else FAILED
        return FAILED


@lru_cache(maxsize=32)
def _words(field: str, style: str) -> tuple[tuple[str, int], ...]:
    """The longest first. A narrow name can stand for several values and is not read."""
    styles = {SHORT: (SHORT,), FULL: (FULL, SHORT)}.get(style, ())
    words = {name: value for each in styles for value, name in NAMES[field].get(each, {}).items()}
    return tuple(sorted(words.items(), key=lambda word: -len(word[0])))


@dataclass(frozen=True, slots=True)
class Offset:
    """A distance from UTC in digits."""

    form: str
    """``+HH``, ``+HHmm``, ``+HHMM``, ``+HH:MM``, ``+HHMMss``, ``+HH:MM:ss``: parts in small letters may be missing."""
    zero: str

    def write(self, moment: Moment) -> str:
        if moment.zone is None:
            raise ValueError("there is no time zone to write")
        seconds = abs(moment.offset)
        hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
        colon = ":" if ":" in self.form else ""
        text = f"{'-' if moment.offset < 0 else '+'}{hours:02}"
        if "MM" in self.form or ("mm" in self.form and minutes):
            text += f"{colon}{minutes:02}"
        if "ss" in self.form and rest:
            text += f"{colon}{rest:02}"
        return text if re.search("[1-9]", text) else self.zero

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        if text[at : at + len(self.zero)].casefold() == self.zero.casefold():
            return _take_offset(parsed, 0, at + len(self.zero))
        found = _offset_pattern(self.form).match(text, at)
        if found is None:
            return FAILED
        hours, minutes, seconds = (int(found[part] or 0) for part in ("h", "m", "s"))
        total = hours * 3600 + minutes * 60 + seconds
        if minutes > 59 or seconds > 59 or total > 18 * 3600:
            return FAILED
        return _take_offset(parsed, -total if found["sign"] == "-" else total, found.end())


@lru_cache(maxsize=16)
def _offset_pattern(form: str) -> re.Pattern[str]:
    colon = ":" if ":" in form else ""
    minutes = f"{colon}(?P<m>[0-9]{{2}})" if "MM" in form else f"(?:{colon}(?P<m>[0-9]{{2}}))?"
    seconds = f"(?:{colon}(?P<s>[0-9]{{2}}))?"
    if form == "+HH":
        minutes = "(?P<m>)"
    return re.compile(f"(?P<sign>[+-])(?P<h>[0-9]{{2}}){minutes}{seconds if 'ss' in form else '(?P<s>)'}")


def _take_offset(parsed: Parsed, seconds: int, end: int) -> int:
    # An offset says more exactly than a zone which of two equal local times is meant; it wins.
    parsed.zone = zone_of(offset_text(seconds))
    return end


@dataclass(frozen=True, slots=True)
class LocalizedOffset:
    """A distance from UTC such as ``GMT+8`` or ``GMT+08:00``."""

    is_full: bool

    def write(self, moment: Moment) -> str:
        if moment.zone is None:
            raise ValueError("there is no time zone to write")
        if moment.offset == 0:
            return "GMT"
        seconds = abs(moment.offset)
        hours, minutes, rest = seconds // 3600, seconds // 60 % 60, seconds % 60
        text = (
            f"GMT{'-' if moment.offset < 0 else '+'}{hours:02}" if self.is_full else self._short(moment.offset, hours)
        )
        if self.is_full or minutes or rest:
            text += f":{minutes:02}"
        return f"{text}:{rest:02}" if rest else text

    def _short(self, offset: int, hours: int) -> str:
        return f"GMT{'-' if offset < 0 else '+'}{hours}"

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        hours = "[0-9]{2}" if self.is_full else "[0-9]{1,2}"
        minutes = "(?::([0-9]{2}))" + ("" if self.is_full else "?")
        found = re.compile(f"GMT(?:([+-])({hours}){minutes})?", re.IGNORECASE).match(text, at)
        if found is None:
            return FAILED
        total = int(found[2] or 0) * 3600 + int(found[3] or 0) * 60
        return _take_offset(parsed, -total if found[1] == "-" else total, found.end())


@dataclass(frozen=True, slots=True)
class ZoneId:
    """A zone by its id."""

    def write(self, moment: Moment) -> str:
        if moment.zone is None:
            raise ValueError("there is no time zone to write")
        return moment.zone.name

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        return _take_zone(parsed, _zone_at(text, at))


@dataclass(frozen=True, slots=True)
class ZoneText:
    """A zone by its name, short or full."""

    is_full: bool

    def write(self, moment: Moment) -> str:
        if moment.zone is None:
            raise ValueError("there is no time zone to write")
        is_offset = moment.zone.is_offset
        short = moment.zone.name if is_offset else moment.zone.short_name(moment.epoch_seconds)
        return ZONES[short][1] if self.is_full and short in ZONES else short

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        names = {full if self.is_full else short: region for short, (region, full) in ZONES.items()}
        candidates = [_zone_at(text, at)]
        for name, region in names.items():
            if text[at : at + len(name)].casefold() == name.casefold():
                candidates.append((zone_of(region), at + len(name)))
        return _take_zone(parsed, max(candidates, key=lambda found: found[1]))


def _take_zone(parsed: Parsed, found: tuple[Zone | None, int]) -> int:
    zone, end = found
    if zone is None:
        return FAILED
    parsed.zone = parsed.zone if parsed.zone is not None and parsed.zone.is_offset else zone
    return end


_ZONE_CHARACTERS = re.compile(r"[+-][0-9]{2}(?::[0-9]{2}(?::[0-9]{2})?)?|[A-Za-z][A-Za-z0-9/_+.~:-]*", re.ASCII)


def _zone_at(text: str, at: int) -> tuple[Zone | None, int]:
    """The longest id of a zone that begins at ``at``, and its end."""
    found = _ZONE_CHARACTERS.match(text, at)
    end = found.end() if found else at
    while end > at:
        name = text[at:end]
        try:
            return zone_of(_ids().get(name.casefold(), name)), end
        except ValueError:
            end -= 1
    return None, FAILED


@lru_cache(maxsize=1)
def _ids() -> dict[str, str]:
    return {name.casefold(): name for name in available_timezones()} | {"utc": "UTC", "gmt": "GMT", "ut": "UT"}


@dataclass(frozen=True, slots=True)
class Optional:
    """Parts that may be missing from the text."""

    elements: tuple[Element, ...]

    def write(self, moment: Moment) -> str:
        try:
            return "".join(element.write(moment) for element in self.elements)
        except ValueError:  # fields that the moment does not have
            return ""

    def read(self, text: str, at: int, parsed: Parsed) -> int:
        fields, zone = dict(parsed.fields), parsed.zone
        end = read_all(self.elements, text, at, parsed)
        if end != FAILED:
            return end
        parsed.fields, parsed.zone = fields, zone
        return at


def read_all(elements: tuple[Element, ...], text: str, at: int, parsed: Parsed) -> int:
    for element in elements:
        at = element.read(text, at, parsed)
        if at == FAILED:
            return FAILED
    return at
