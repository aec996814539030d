"""The formats of a source, from what was said about them and from the defaults."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.near_names import did_you_mean
from headrace.sql.catalog.properties import SourceProperties
from headrace.sql.errors import SqlError
from headrace.sql.formats.format_info import (
    AVRO,
    DELIMITER,
    FORMATS,
    NULLABLE,
    PROTOBUF,
    SCHEMA_ID,
    SCHEMA_NAME,
    UNWRAP_PRIMITIVES,
    Format,
)

DEFAULT_KEY_FORMAT = "ksql.persistence.default.format.key"
DEFAULT_VALUE_FORMAT = "ksql.persistence.default.format.value"
_AVRO_NAMESPACE = "io.confluent.ksql.avro_schemas"
WRAP_VALUES = "ksql.persistence.wrap.single.values"
_WRITTEN = {
    DELIMITER: ("{}_DELIMITER",),
    SCHEMA_NAME: ("{}_SCHEMA_FULL_NAME", "{}_AVRO_SCHEMA_FULL_NAME"),
    SCHEMA_ID: ("{}_SCHEMA_ID",),
    NULLABLE: ("{}_PROTOBUF_NULLABLE_REPRESENTATION",),
}
"""The properties of formats, as WITH has them for key and value."""


def named_formats(properties: SourceProperties, settings: Mapping[str, str]) -> tuple[Format, Format]:
    """Of key and value: given for both at once, one by one, or by default."""
    check_both(properties)
    both = properties.text("FORMAT")
    key = both or properties.text("KEY_FORMAT") or settings.get(DEFAULT_KEY_FORMAT, "KAFKA")
    value = both or properties.text("VALUE_FORMAT") or settings.get(DEFAULT_VALUE_FORMAT)
    if value is None:
        hint = f"Write WITH (VALUE_FORMAT='JSON'), or set a default: {DEFAULT_VALUE_FORMAT}."
        raise SqlError("format.missing", "the VALUE_FORMAT is missing", hint=hint)
    key_at, value_at = properties.at("FORMAT", "KEY_FORMAT"), properties.at("FORMAT", "VALUE_FORMAT")
    return format_named(key, key_at), format_named(value, value_at)


def check_both(properties: SourceProperties) -> None:
    """Refuse to say twice what the format of key or value is."""
    for name in ("KEY_FORMAT", "VALUE_FORMAT"):
        if "FORMAT" in properties and name in properties:
            message = f"FORMAT and {name} are both given, and FORMAT is the format of key and value"
            hint = "Give FORMAT alone, or KEY_FORMAT and VALUE_FORMAT."
            raise SqlError("format.both", message, hint=hint, offset=properties.at(name))


def format_named(name: str, at: int | None = None) -> Format:
    """The format of that name; ``at`` is where it stands."""
    found = FORMATS.get(name.upper())
    if found is None:
        message = f"there is no format {name}"
        near = did_you_mean(name.upper(), FORMATS, shown=str)
        known = f"Formats are {', '.join(sorted(FORMATS))}."
        raise SqlError("format.unknown", message, hint=known if near is None else f"{near} {known}", offset=at)
    return found


def key_properties(properties: SourceProperties, format_: Format, source: str) -> dict[str, str]:
    """What was said about the format of the key. A key schema of Avro is named after the source by default."""
    default = "".join(map(str.capitalize, source.split("_"))) if format_ is AVRO else None
    said = {
        DELIMITER: properties.delimiter("KEY_DELIMITER"),
        SCHEMA_NAME: properties.text("KEY_SCHEMA_FULL_NAME") or (default and f"{_AVRO_NAMESPACE}.{default}Key"),
        SCHEMA_ID: properties.whole("KEY_SCHEMA_ID"),
        NULLABLE: properties.text("KEY_PROTOBUF_NULLABLE_REPRESENTATION"),
    }
    return _checked(said, format_, "KEY", properties)


def value_properties(properties: SourceProperties, format_: Format) -> dict[str, str]:
    """What was said about the format of the value."""
    name = properties.text("VALUE_SCHEMA_FULL_NAME")
    said = {
        DELIMITER: properties.delimiter("VALUE_DELIMITER"),
        SCHEMA_NAME: properties.text("VALUE_AVRO_SCHEMA_FULL_NAME") if name is None else name,
        SCHEMA_ID: properties.whole("VALUE_SCHEMA_ID"),
        NULLABLE: properties.text("VALUE_PROTOBUF_NULLABLE_REPRESENTATION"),
    }
    return _checked(said, format_, "VALUE", properties)


def _checked(
    said: Mapping[str, str | int | None], format_: Format, side: str, properties: SourceProperties
) -> dict[str, str]:
    given = {
        name: str(value).strip() if name == SCHEMA_NAME else str(value)
        for name, value in said.items()
        if value is not None
    }
    if SCHEMA_ID in given and not format_.infers:
        message = f"{side}_SCHEMA_ID is given, but the format {format_.name} has no schemas in a registry"
        raise SqlError("format.property", message, offset=properties.at(f"{side}_SCHEMA_ID"))
    for name, value in given.items():
        at = properties.at(*(written.format(side) for written in _WRITTEN[name]))
        if name not in format_.properties:
            code = "format.delimiter" if name == DELIMITER else "format.property"
            message = f"the format {format_.name} has no property {name}"
            raise SqlError(code, message, offset=at)
        if not value:
            message = f"the property {name} of the format {format_.name} is empty"
            raise SqlError("format.property", message, offset=at)
    if NULLABLE in given:
        given[NULLABLE] = given[NULLABLE].lower()
    return given | ({UNWRAP_PRIMITIVES: "true"} if format_ is PROTOBUF else {})
