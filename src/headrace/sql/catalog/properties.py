"""WITH: the properties of a new stream or table, checked as far as each can be by itself."""

from __future__ import annotations

import re
from typing import TypeVar

from headrace.near_names import did_you_mean
from headrace.sql.errors import SqlError
from headrace.sql.tree.expressions import Literal, NullLiteral
from headrace.sql.tree.queries import Duration, WindowKind
from headrace.sql.tree.statements import Properties

T = TypeVar("T")
_DURATION = re.compile(r"\s*(\d+)\s+((?:DAY|HOUR|MINUTE|SECOND|MILLISECOND)S?)\s*", re.IGNORECASE)
_BLANKS = {"SPACE": " ", "TAB": "\t"}
_SHARED = """
KAFKA_TOPIC FORMAT KEY_FORMAT VALUE_FORMAT KEY_DELIMITER VALUE_DELIMITER WRAP_SINGLE_VALUE PARTITIONS REPLICAS
RETENTION_MS TIMESTAMP TIMESTAMP_FORMAT KEY_SCHEMA_ID VALUE_SCHEMA_ID KEY_SCHEMA_FULL_NAME VALUE_SCHEMA_FULL_NAME
VALUE_AVRO_SCHEMA_FULL_NAME KEY_PROTOBUF_NULLABLE_REPRESENTATION VALUE_PROTOBUF_NULLABLE_REPRESENTATION
"""
_ELSEWHERE = {
    "TOPIC": "KAFKA_TOPIC",
    "TOPIC_NAME": "KAFKA_TOPIC",
    "NAME": "KAFKA_TOPIC",
    "DELIMITER": "VALUE_DELIMITER",
}
"""Properties under the names that people try."""
SHARED = frozenset(_SHARED.split())
"""What may be said of any source."""
OF_SOURCES = SHARED | {"WINDOW_TYPE", "WINDOW_SIZE", "SOURCED_BY_CONNECTOR", "SOURCE_CONNECTOR"}
"""What may be said of a source that a topic is registered as."""


class SourceProperties:
    """The properties by their names in upper case."""

    def __init__(self, given: Properties, allowed: frozenset[str]) -> None:
        self._values: dict[str, Literal] = {}
        for written, value in given:
            name = written.upper()
            if name not in allowed:
                raise _unknown(written, allowed, value.at)
            if name in self._values:
                raise _wrong(name, "it is given twice", value.at)
            self._values[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def at(self, *names: str) -> int | None:
        """Where the value of the first of these that is given stands."""
        return next((self._values[name].at for name in names if name in self._values), None)

    def text(self, name: str) -> str | None:
        """A text; None where it is not given."""
        return self._typed(name, str, "a text in single quotes")

    def whole(self, name: str) -> int | None:
        """A whole number, also one written as a text."""
        value = self._value(name)
        if isinstance(value, str) and value.strip().isdigit():
            return int(value)
        return self._typed(name, int, "a whole number")

    def flag(self, name: str) -> bool | None:
        """TRUE or FALSE, also written as a text."""
        value = self._value(name)
        if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
            return value.strip().lower() == "true"
        return self._typed(name, bool, "true or false")

    def delimiter(self, name: str) -> str | None:
        """One character, or the name of a blank."""
        value = self.text(name)
        if value is None or value.upper() in _BLANKS:
            return value
        if not value.strip():
            raise self._wrong(name, "a blank is written as SPACE or TAB", code="format.delimiter")
        if len(value) != 1:
            raise self._wrong(name, f"{value!r} is not one character, SPACE or TAB", code="format.delimiter")
        return value

    def window_kind(self) -> WindowKind | None:
        """Of the windows in the keys."""
        value = self.text("WINDOW_TYPE")
        if value is None:
            return None
        if value.upper() not in WindowKind.__members__:
            raise self._wrong("WINDOW_TYPE", f"{value!r} is not TUMBLING, HOPPING or SESSION", code="ddl.window-size")
        return WindowKind(value.upper())

    def duration_ms(self, name: str) -> int | None:
        """A number and a unit of time, in milliseconds."""
        value = self.text(name)
        if value is None:
            return None
        found = _DURATION.fullmatch(value)
        if found is None or not int(found[1]):
            raise self._wrong(name, f"{value!r} is no length of time such as '30 SECONDS'", code="ddl.window-size")
        return Duration(int(found[1]), found[2].upper()).ms

    def _value(self, name: str) -> object:
        literal = self._values.get(name)
        return None if literal is None or isinstance(literal, NullLiteral) else literal.value

    def _typed(self, name: str, kind: type[T], what: str) -> T | None:
        value = self._value(name)
        # TRUE is a number to Python, not to SQL.
        if value is None or (isinstance(value, kind) and isinstance(value, bool) == (kind is bool)):
            return value
        raise self._wrong(name, f"it must be {what}")

    def _wrong(self, name: str, why: str, *, code: str = "ddl.property") -> SqlError:
        return _wrong(name, why, self.at(name), code=code)


def _unknown(name: str, allowed: frozenset[str], at: int) -> SqlError:
    message = f"there is no property {name}"
    ours = _ELSEWHERE.get(name.upper())
    hint = f"Here it is {ours}." if ours in allowed else did_you_mean(name.upper(), allowed, shown=str)
    return SqlError("ddl.property", message, hint=hint, offset=at)


def _wrong(name: str, why: str, at: int | None, *, code: str = "ddl.property") -> SqlError:
    return SqlError(code, f"the property {name} is wrong: {why}", offset=at)
