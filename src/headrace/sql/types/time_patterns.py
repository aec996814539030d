"""Patterns of dates and times, as java.time.format.DateTimeFormatter reads them.

A pattern is read once and kept. Names are English, weeks begin on Sunday, letters are matched without regard to case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from headrace.sql.types.time_elements import (
    FAILED,
    Element,
    Fraction,
    Literal,
    LocalizedOffset,
    Number,
    Offset,
    Optional,
    Text,
    TwoDigitYear,
    ZoneId,
    ZoneText,
    read_all,
)
from headrace.sql.types.time_fields import DATE_FIELDS, SECOND, Moment, Parsed
from headrace.sql.types.time_names import FULL, NARROW, SHORT
from headrace.sql.types.times import days_of, instant_of, month_length
from headrace.sql.types.zones import Zone

_FIELDS = {
    "G": "ERA",
    "u": "YEAR",
    "y": "YEAR_OF_ERA",
    "Q": "QUARTER_OF_YEAR",
    "q": "QUARTER_OF_YEAR",
    "M": "MONTH_OF_YEAR",
    "L": "MONTH_OF_YEAR",
    "D": "DAY_OF_YEAR",
    "d": "DAY_OF_MONTH",
    "F": "ALIGNED_DAY_OF_WEEK_IN_MONTH",
    "E": "DAY_OF_WEEK",
    "e": "DAY_OF_WEEK",
    "c": "DAY_OF_WEEK",
    "a": "AMPM_OF_DAY",
    "H": "HOUR_OF_DAY",
    "k": "CLOCK_HOUR_OF_DAY",
    "K": "HOUR_OF_AMPM",
    "h": "CLOCK_HOUR_OF_AMPM",
    "m": "MINUTE_OF_HOUR",
    "s": "SECOND_OF_MINUTE",
    "S": "NANO_OF_SECOND",
    "A": "MILLI_OF_DAY",
    "n": "NANO_OF_SECOND",
    "N": "NANO_OF_DAY",
    "g": "MODIFIED_JULIAN_DAY",
    "Y": "WEEK_YEAR",
    "w": "WEEK_OF_YEAR",
    "W": "WEEK_OF_MONTH",
}
_OFFSETS = ("+HHmm", "+HHMM", "+HH:MM", "+HHMMss", "+HH:MM:ss")
_STYLES = {1: SHORT, 2: SHORT, 3: SHORT, 4: FULL, 5: NARROW}


@dataclass(frozen=True, slots=True)
class TimePattern:
    """A pattern that was read: it writes moments and reads texts."""

    pattern: str
    elements: tuple[Element, ...]
    simple: re.Pattern[str] | None
    """Matches at once what most texts look like, where the pattern has nothing but digits."""

    def write(self, moment: Moment) -> str:
        return "".join(element.write(moment) for element in self.elements)

    def read(self, text: str) -> Parsed:
        """What ``text`` says; all of it must follow the pattern."""
        parsed = Parsed()
        if read_all(self.elements, text, 0, parsed) != len(text):
            message = f"{text!r} does not follow the pattern {self.pattern!r}"
            raise ValueError(message)
        try:
            parsed.resolve()
        except ValueError as error:
            message = f"{text!r} is no time by the pattern {self.pattern!r}: {error}"
            raise ValueError(message) from None
        return parsed

    def read_instant(self, text: str, zone: Zone) -> int:
        """The TIMESTAMP of a text, in ``zone`` if it names none.

        >>> from headrace.sql.types.zones import UTC
        >>> pattern_of("yyyy-MM-dd HH").read_instant("1970-01-02 01", UTC)
        90000000
        """
        found = None if self.simple is None else self.simple.fullmatch(text)
        at_once = None if found is None else _simple_instant(found.groupdict(), zone)
        return self.read(text).instant(zone) if at_once is None else at_once

    def read_date(self, text: str) -> int:
        parsed = self.read(text)
        if parsed.days is None:
            message = f"the pattern {self.pattern!r} does not make a date"
            raise ValueError(message)
        return parsed.days

    def read_time(self, text: str) -> int:
        """The TIME of a text; the pattern must have no fields of a date."""
        parsed = self.read(text)
        if DATE_FIELDS & parsed.fields.keys():
            message = f"the pattern {self.pattern!r} of a time has fields of a date"
            raise ValueError(message)
        if parsed.nanos is None:
            message = f"the pattern {self.pattern!r} does not make a time"
            raise ValueError(message)
        return parsed.nanos // 1_000_000


@lru_cache(maxsize=1000)
def pattern_of(pattern: str) -> TimePattern:
    """The pattern of a text; raises ``ValueError`` if it is none.

    >>> from headrace.sql.types.zones import UTC
    >>> pattern_of("EEE, d MMM yyyy HH:mm:ss.SSS XXX").write(Moment.at(0, UTC))
    'Thu, 1 Jan 1970 00:00:00.000 Z'
    """
    elements = _Reader(pattern).elements()
    return TimePattern(pattern, elements, _simple(elements))


_GROUPS = {
    "YEAR": "year",
    "YEAR_OF_ERA": "year",
    "MONTH_OF_YEAR": "month",
    "DAY_OF_MONTH": "day",
    "HOUR_OF_DAY": "hour",
    "MINUTE_OF_HOUR": "minute",
    "SECOND_OF_MINUTE": "second",
}


def _simple(elements: tuple[Element, ...]) -> re.Pattern[str] | None:
    """One expression for a date with or without a time, all in as many digits as letters; None for other patterns."""
    expression, names = "", []
    for element in elements:
        if isinstance(element, Literal):
            expression += re.escape(element.text)
        elif isinstance(element, Fraction):
            names.append("fraction")
            expression += f"(?P<fraction>[0-9]{{{element.least}}})"
        elif type(element) is Number and element.least in (2, 4) and element.field in _GROUPS:
            names.append(_GROUPS[element.field])
            expression += f"(?P<{names[-1]}>[0-9]{{{element.least}}})"
        else:
            return None
    is_whole = {"year", "month", "day"} <= set(names) and len(names) == len(set(names))
    return re.compile(expression) if is_whole else None


def _simple_instant(parts: dict[str, str], zone: Zone) -> int | None:
    """None for what the rules must look at more closely."""
    year, month, day = int(parts["year"]), int(parts["month"]), int(parts["day"])
    hour, minute, second = (int(parts.get(name, 0)) for name in ("hour", "minute", "second"))
    if not (year and 0 < month < 13 and 0 < day <= month_length(year, month)) or hour > 23 or max(minute, second) > 59:
        return None
    nanos = ((hour * 60 + minute) * 60 + second) * SECOND + int(parts.get("fraction", "").ljust(9, "0"))
    return instant_of(days_of(year, month, day), nanos, zone)


class _Reader:
    """Walks along the text of a pattern."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def elements(self) -> tuple[Element, ...]:
        elements = self._section(is_optional=False)
        if self._at < len(self._pattern):
            message = f"the pattern {self._pattern!r} closes a section that is not open"
            raise ValueError(message)
        return elements

    def _section(self, *, is_optional: bool) -> tuple[Element, ...]:
        found: list[Element] = []
        values: list[int] = []  # the run of numbers side by side: the first takes what the others leave
        while self._at < len(self._pattern):
            char = self._pattern[self._at]
            if char == "]":
                self._at += is_optional
                break
            element = self._element(char)
            values = _side_by_side(found, values, element)
            found.append(element)
        return tuple(found)

    def _element(self, char: str) -> Element:
        if char.isascii() and char.isalpha():
            return self._letters(char)
        self._at += 1
        if char == "'":
            return self._quoted()
        if char == "[":
            return Optional(self._section(is_optional=True))
        if char in "{}#":
            message = f"the pattern {self._pattern!r} contains {char!r}, which is reserved"
            raise ValueError(message)
        return Literal(char)

    def _quoted(self) -> Element:
        text = ""
        while True:
            end = self._pattern.find("'", self._at)
            if end < 0:
                message = f"the pattern {self._pattern!r} does not close a quote"
                raise ValueError(message)
            text += self._pattern[self._at : end]
            self._at = end + 1
            if self._pattern[end + 1 : end + 2] != "'":
                return Literal(text or "'")
            text += "'"
            self._at += 1

    def _letters(self, letter: str) -> Element:
        start = self._at
        while self._pattern[self._at : self._at + 1] == letter:
            self._at += 1
        count = self._at - start
        make = _MAKERS.get(letter)
        element = make(letter, count) if make else None
        if element is None:
            message = f"the pattern {self._pattern!r} contains {letter * count!r}, which says nothing"
            raise ValueError(message)
        return element


def _side_by_side(found: list[Element], values: list[int], element: Element) -> list[int]:
    if not isinstance(element, Number):
        return []
    if values and element.is_fixed:
        first = found[values[0]]
        assert isinstance(first, Number)
        if not first.is_fixed:
            found[values[0]] = replace(first, follow=first.follow + element.most)
        return values
    return [len(found)]


# What letters make: None for a count that they do not have


def _year(letter: str, count: int) -> Element:
    if count == 2:
        return TwoDigitYear(_FIELDS[letter], 2, 2)
    return Number(_FIELDS[letter], count, 19, "minus" if count < 4 else "exceeds")


def _word_or_number(letter: str, count: int) -> Element | None:
    if count <= 2 and letter not in "EG":
        return _number(letter, count)
    return Text(_FIELDS[letter], _STYLES[count]) if count in _STYLES else None


def _weekday(letter: str, count: int) -> Element | None:
    if count <= (1 if letter == "c" else 2):
        return Number("LOCAL_DAY_OF_WEEK", count, count if count == 2 else 19)
    return None if count == 2 else _word_or_number("E", count)


def _am_pm(letter: str, count: int) -> Element | None:
    return Text(_FIELDS[letter], SHORT) if count == 1 else None


def _number(letter: str, count: int) -> Element | None:
    if count == 1:
        return Number(_FIELDS[letter], 1, 19, "minus")
    return Number(_FIELDS[letter], 2, 2) if count == 2 else None


def _single(letter: str, count: int) -> Element | None:
    return _number(letter, count) if count == 1 else None


def _day_of_year(letter: str, count: int) -> Element | None:
    if count == 1:
        return _number(letter, count)
    return Number(_FIELDS[letter], count, 3) if count <= 3 else None


def _long_number(letter: str, count: int) -> Element | None:
    return Number(_FIELDS[letter], count, 19, "minus" if letter == "g" else "never")


def _fraction(letter: str, count: int) -> Element | None:
    return Fraction(_FIELDS[letter], count, count) if count <= 9 else None


def _offset(letter: str, count: int) -> Element | None:
    if count > 5:
        return None
    zero = {1: "+00", 2: "+0000", 3: "+00:00", 4: "+0000", 5: "+00:00"}[count] if letter == "x" else "Z"
    return Offset(_OFFSETS[count - 1], zero)


def _zulu(letter: str, count: int) -> Element | None:
    if count == 4:
        return LocalizedOffset(is_full=True)
    return Offset("+HHMM", "+0000") if count < 4 else Offset("+HH:MM:ss", "Z") if count == 5 else None


def _localized(letter: str, count: int) -> Element | None:
    return LocalizedOffset(is_full=count == 4) if count in (1, 4) else None


_MAKERS: dict[str, Callable[[str, int], Element | None]] = {
    **dict.fromkeys("uyY", _year),
    **dict.fromkeys("MLQqEG", _word_or_number),
    **dict.fromkeys("ec", _weekday),
    "a": _am_pm,
    "S": _fraction,
    "D": _day_of_year,
    **dict.fromkeys("dhHkKmsw", _number),
    **dict.fromkeys("FW", _single),
    **dict.fromkeys("gAnN", _long_number),
    **dict.fromkeys("Xx", _offset),
    "Z": _zulu,
    "O": _localized,
    "V": lambda letter, count: ZoneId() if count == 2 else None,
    "z": lambda letter, count: ZoneText(is_full=count == 4) if count <= 4 else None,
}

__all__ = ["FAILED", "Moment", "TimePattern", "pattern_of"]
