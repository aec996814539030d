"""Fields of dates and times: their values in a moment, and a moment from the fields that were read.

The fields are those of java.time, and so are the rules by which they come together (its SMART style).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.sql.types.times import DAY_NANOS, civil, clock, days_of, instant_of, is_leap, month_length
from headrace.sql.types.zones import Zone

SECOND = 1_000_000_000
DATE_FIELDS = frozenset(
    [
        "ERA",
        "YEAR",
        "YEAR_OF_ERA",
        "MONTH_OF_YEAR",
        "QUARTER_OF_YEAR",
        "DAY_OF_MONTH",
        "DAY_OF_YEAR",
        "DAY_OF_WEEK",
        "WEEK_YEAR",
        "WEEK_OF_YEAR",
        "WEEK_OF_MONTH",
        "LOCAL_DAY_OF_WEEK",
        "ALIGNED_DAY_OF_WEEK_IN_MONTH",
        "MODIFIED_JULIAN_DAY",
    ]
)
_RANGES = {
    "ERA": (0, 1),
    "YEAR": (-999_999_999, 999_999_999),
    "YEAR_OF_ERA": (1, 999_999_999),
    "MONTH_OF_YEAR": (1, 12),
    "DAY_OF_MONTH": (1, 31),
    "DAY_OF_YEAR": (1, 366),
    "DAY_OF_WEEK": (1, 7),
    "AMPM_OF_DAY": (0, 1),
    "HOUR_OF_AMPM": (0, 11),
    "CLOCK_HOUR_OF_AMPM": (0, 12),
    "HOUR_OF_DAY": (0, 24),
    "CLOCK_HOUR_OF_DAY": (0, 24),
    "MINUTE_OF_HOUR": (0, 59),
    "SECOND_OF_MINUTE": (0, 59),
    "NANO_OF_SECOND": (0, SECOND - 1),
    "MILLI_OF_DAY": (0, 86_399_999),
    "NANO_OF_DAY": (0, DAY_NANOS - 1),
}


@dataclass(frozen=True, slots=True)
class Moment:
    """What can be written: a date, a time of day, or both in a zone."""

    days: int | None = None
    nanos: int | None = None
    zone: Zone | None = None
    offset: int = 0

    @classmethod
    def at(cls, epoch_ms: int, zone: Zone) -> Moment:
        """An instant, as the clocks of ``zone`` show it."""
        seconds, ms = divmod(epoch_ms, 1000)
        offset = zone.offset_at(seconds)
        days, second_of_day = divmod(seconds + offset, 86_400)
        return cls(days, second_of_day * SECOND + ms * 1_000_000, zone, offset)

    def get(self, name: str) -> int:
        known = self.days if name in DATE_FIELDS else self.nanos
        if known is None:
            message = f"there is no {name.lower().replace('_', ' ')} to write"
            raise ValueError(message)
        return _DATE_VALUES[name](known) if name in DATE_FIELDS else _TIME_VALUES[name](known)

    @property
    def epoch_seconds(self) -> int:
        return (self.days or 0) * 86_400 + (self.nanos or 0) // SECOND - self.offset


def day_of_week(days: int) -> int:
    """1 is Monday."""
    return (days + 3) % 7 + 1


def day_of_year(days: int) -> int:
    return days - days_of(civil(days)[0], 1, 1) + 1


def _local_day_of_week(days: int) -> int:
    """1 is Sunday, where weeks begin in the United States."""
    return day_of_week(days) % 7 + 1


def _week(day: int, weekday: int) -> int:
    """The number of a week that begins on Sunday; the first one may be short."""
    return (day - weekday + 13) // 7


def _week_year(days: int) -> int:
    return civil(days + 7 - _local_day_of_week(days))[0]


def _week_of_year(days: int) -> int:
    if _week_year(days) != civil(days)[0]:
        return 1
    return _week(day_of_year(days), _local_day_of_week(days))


def _year_of_era(days: int) -> int:
    year = civil(days)[0]
    return year if year > 0 else 1 - year


_DATE_VALUES: dict[str, Callable[[int], int]] = {
    "ERA": lambda days: int(civil(days)[0] > 0),
    "YEAR": lambda days: civil(days)[0],
    "YEAR_OF_ERA": _year_of_era,
    "MONTH_OF_YEAR": lambda days: civil(days)[1],
    "QUARTER_OF_YEAR": lambda days: (civil(days)[1] + 2) // 3,
    "DAY_OF_MONTH": lambda days: civil(days)[2],
    "DAY_OF_YEAR": day_of_year,
    "DAY_OF_WEEK": day_of_week,
    "LOCAL_DAY_OF_WEEK": _local_day_of_week,
    "WEEK_YEAR": _week_year,
    "WEEK_OF_YEAR": _week_of_year,
    "WEEK_OF_MONTH": lambda days: _week(civil(days)[2], _local_day_of_week(days)),
    "ALIGNED_DAY_OF_WEEK_IN_MONTH": lambda days: (civil(days)[2] - 1) % 7 + 1,
    "MODIFIED_JULIAN_DAY": lambda days: days + 40_587,
}
_TIME_VALUES: dict[str, Callable[[int], int]] = {
    "AMPM_OF_DAY": lambda nanos: clock(nanos)[0] // 12,
    "HOUR_OF_AMPM": lambda nanos: clock(nanos)[0] % 12,
    "CLOCK_HOUR_OF_AMPM": lambda nanos: clock(nanos)[0] % 12 or 12,
    "HOUR_OF_DAY": lambda nanos: clock(nanos)[0],
    "CLOCK_HOUR_OF_DAY": lambda nanos: clock(nanos)[0] or 24,
    "MINUTE_OF_HOUR": lambda nanos: clock(nanos)[1],
    "SECOND_OF_MINUTE": lambda nanos: clock(nanos)[2],
    "NANO_OF_SECOND": lambda nanos: clock(nanos)[3],
    "MILLI_OF_DAY": lambda nanos: nanos // 1_000_000,
    "NANO_OF_DAY": lambda nanos: nanos,
}


@dataclass(slots=True)
class Parsed:
    """What was read from a text: fields, a zone, and what they make together."""

    fields: dict[str, int] = field(default_factory=dict)
    zone: Zone | None = None
    days: int | None = None
    nanos: int | None = None

    def put(self, name: str, value: int) -> bool:
        """Take a field; False if it is there with another value."""
        return self.fields.setdefault(name, value) == value

    def resolve(self) -> None:
        """Make a date and a time of day of the fields, as far as there are enough of them."""
        for name, value in self.fields.items():
            low, high = _RANGES.get(name, (value, value))
            if not low <= value <= high:
                message = f"{value} is no {name.lower().replace('_', ' ')}"
                raise ValueError(message)
        self._resolve_year()
        self._resolve_date()
        self._resolve_hour()
        self._resolve_time()
        self._check()

    def _resolve_year(self) -> None:
        year_of_era = self.fields.pop("YEAR_OF_ERA", None)
        if year_of_era is not None:
            era = self.fields.pop("ERA", 1)
            self._set("YEAR", year_of_era if era else 1 - year_of_era)

    def _set(self, name: str, value: int) -> None:
        if not self.put(name, value):
            message = f"there are two values for {name.lower().replace('_', ' ')}: {self.fields[name]}, {value}"
            raise ValueError(message)

    def _resolve_date(self) -> None:
        fields = self.fields
        year, month, day = (fields.get(name) for name in ("YEAR", "MONTH_OF_YEAR", "DAY_OF_MONTH"))
        if "MODIFIED_JULIAN_DAY" in fields:
            self.days = fields["MODIFIED_JULIAN_DAY"] - 40_587
            return None
        if year is None:
            return self._resolve_week()
        if month is not None and day is not None:
            self.days = days_of(year, month, min(day, month_length(year, month)))
        elif "DAY_OF_YEAR" in fields:
            if fields["DAY_OF_YEAR"] == 366 and not is_leap(year):
                message = f"{year} has no day 366"
                raise ValueError(message)
            self.days = days_of(year, 1, 1) + fields["DAY_OF_YEAR"] - 1
        return None

    def _resolve_week(self) -> None:
        year, week = self.fields.get("WEEK_YEAR"), self.fields.get("WEEK_OF_YEAR")
        weekday = self.fields.get("LOCAL_DAY_OF_WEEK") or self.fields.get("DAY_OF_WEEK", -1) % 7 + 1
        if year is not None and week is not None and {"LOCAL_DAY_OF_WEEK", "DAY_OF_WEEK"} & self.fields.keys():
            first = days_of(year, 1, 1)
            self.days = first - _local_day_of_week(first) + (week - 1) * 7 + weekday

    def _resolve_hour(self) -> None:
        fields = self.fields
        if "CLOCK_HOUR_OF_DAY" in fields:
            self._set("HOUR_OF_DAY", fields.pop("CLOCK_HOUR_OF_DAY") % 24)
        if "CLOCK_HOUR_OF_AMPM" in fields:
            self._set("HOUR_OF_AMPM", fields.pop("CLOCK_HOUR_OF_AMPM") % 12)
        if "AMPM_OF_DAY" in fields and "HOUR_OF_AMPM" in fields:
            self._set("HOUR_OF_DAY", fields.pop("AMPM_OF_DAY") * 12 + fields.pop("HOUR_OF_AMPM"))

    def _resolve_time(self) -> None:
        fields = self.fields
        whole = {"NANO_OF_DAY": 1, "MILLI_OF_DAY": 1_000_000}
        for name in whole.keys() & fields.keys():
            self.nanos = fields[name] * whole[name]
        hour, minute, second, nano = (fields.get(name) for name in _CLOCK)
        misses = (minute is None and (second is not None or nano is not None)) or (second is None and nano is not None)
        if hour is None or misses or self.nanos is not None:
            return
        nanos = ((hour * 60 + (minute or 0)) * 60 + (second or 0)) * SECOND + (nano or 0)
        if hour == 24 and nanos > DAY_NANOS:
            raise ValueError("24 is an hour only at midnight")
        if hour == 24 and self.days is not None:
            self.days += 1
        self.nanos = nanos % DAY_NANOS
        fields["HOUR_OF_DAY"] = hour % 24

    def _check(self) -> None:
        """Fields that are more than needed must agree."""
        moment = Moment(self.days, self.nanos)
        for name, value in self.fields.items():
            known = self.days if name in DATE_FIELDS else self.nanos
            if known is None or name in ("DAY_OF_MONTH", "MONTH_OF_YEAR", "YEAR"):
                continue
            if moment.get(name) != value:
                message = f"{name.lower().replace('_', ' ')} is {moment.get(name)}, not {value}"
                raise ValueError(message)

    def instant(self, zone: Zone) -> int:
        """Milliseconds since 1970; what was not read is 1970, January, the 1st, midnight."""
        days = self._partial_date() if self.days is None else self.days
        nanos = self._partial_time() if self.nanos is None else self.nanos
        return instant_of(days, nanos, self.zone or zone)

    def _partial_date(self) -> int:
        fields = self.fields
        year, month = fields.get("YEAR", 1970), fields.get("MONTH_OF_YEAR", 1)
        days = days_of(year, month, 1)
        if "DAY_OF_WEEK" in fields:
            days += fields["DAY_OF_WEEK"] - day_of_week(days)
        days += fields.get("ALIGNED_DAY_OF_WEEK_IN_MONTH", 1) - 1
        if "DAY_OF_MONTH" in fields:
            year, month, _ = civil(days)
            if fields["DAY_OF_MONTH"] > month_length(year, month):
                message = f"month {month} has no day {fields['DAY_OF_MONTH']}"
                raise ValueError(message)
            days = days_of(year, month, fields["DAY_OF_MONTH"])
        if "DAY_OF_YEAR" in fields:
            if fields["DAY_OF_YEAR"] == 366:
                raise ValueError("day 366 needs a year")
            days = days_of(year, 1, 1) + fields["DAY_OF_YEAR"] - 1
        return days

    def _partial_time(self) -> int:
        fields = self.fields
        # A half of the day alone means its middle.
        within = fields.get("HOUR_OF_AMPM", 6 if "AMPM_OF_DAY" in fields else 0)
        hour = fields.get("HOUR_OF_DAY", fields.get("AMPM_OF_DAY", 0) * 12 + within)
        minute, second, nano = (fields.get(name, 0) for name in _CLOCK[1:])
        return ((hour * 60 + minute) * 60 + second) * SECOND + nano


_CLOCK = ("HOUR_OF_DAY", "MINUTE_OF_HOUR", "SECOND_OF_MINUTE", "NANO_OF_SECOND")
