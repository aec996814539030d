"""Protobuf messages of cases. The project reads their schemas; filling and reading messages is done here."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from headrace.serde.framing import frame, read_message_indexes, unframe, write_message_indexes
from headrace.serde.registry import SchemaRegistry
from headrace.sql.formats.format_info import NULLABLE, SCHEMA_NAME, UNWRAP_PRIMITIVES, ColumnsFormat
from headrace.sql.formats.protobuf import own_file
from headrace.sql.formats.protobuf_files import LoadedFile, load_file, load_schema
from headrace.sql.schema import Column

_EPOCH = date(1970, 1, 1)
_BYTES, _DOUBLE, _FLOAT, _ENUM, _MESSAGE, _BOOL, _STRING = 12, 1, 2, 14, 11, 8, 9
_WRAPPERS = "google.protobuf."


@dataclass(frozen=True)
class ProtobufWire:
    """Messages of some columns, behind the id of a schema unless the format has none."""

    columns: tuple[Column, ...]
    format: ColumnsFormat
    subject: str
    registry: SchemaRegistry

    @property
    def _is_framed(self) -> bool:
        return self.format.format.name == "PROTOBUF"

    def write(self, said: Any) -> bytes:
        """The bytes of what a case says."""
        if not self._is_framed:
            file, name = own_file(self.columns, self.format)
            return self._filled(load_file(file), name, said)
        newest = self.registry.latest(self.subject)
        if newest is None:
            message = f"no schema is registered under {self.subject}"
            raise LookupError(message)
        loaded = load_schema(newest[1], self.registry)
        name = self.format.properties.get(SCHEMA_NAME) or loaded.file.names[0]
        way = loaded.message(name)[1]
        return frame(newest[0], write_message_indexes(way) + self._filled(loaded, name, said))

    def _filled(self, loaded: LoadedFile, name: str, said: Any) -> bytes:
        _, _, make = loaded.message(name)
        message = make()
        _fill(message, said)
        data: bytes = message.SerializeToString()
        return data

    def read(self, data: bytes) -> Any:
        """What a case would say of the bytes."""
        said = self.format.properties
        unwraps = said.get(NULLABLE) == "wrapper" or said.get(UNWRAP_PRIMITIVES) == "true"
        if not self._is_framed:
            file, name = own_file(self.columns, self.format)
            return _value(load_file(file).message(name)[2].FromString(data), unwraps)
        id_, payload = unframe(data)
        way, payload = read_message_indexes(payload)
        loaded = load_schema(self.registry.schema_by_id(id_), self.registry)
        message = loaded.message(loaded.at(way))[2].FromString(payload)
        return _value(message, unwraps)


def _fill(message: Any, said: Any) -> None:
    descriptor = message.DESCRIPTOR
    if _fill_known(message, descriptor.full_name, said):
        return
    given = {name.upper(): value for name, value in said.items()}
    for field in descriptor.fields:
        value = given.get(field.name.upper())
        if value is None:
            continue
        if _is_repeated(field):
            _fill_repeated(message, field, value)
        elif field.type == _MESSAGE:
            target = getattr(message, field.name)
            target.SetInParent()
            _fill(target, value)
        else:
            setattr(message, field.name, _scalar(field, value))


def _fill_known(message: Any, name: str, said: Any) -> bool:
    if name == "google.type.Date":
        day = _EPOCH + timedelta(days=int(said))
        message.year, message.month, message.day = day.year, day.month, day.day
    elif name == "google.type.TimeOfDay":
        seconds, millis = divmod(int(said), 1000)
        message.hours, rest = divmod(seconds, 3600)
        message.minutes, message.seconds = divmod(rest, 60)
        message.nanos = millis * 1_000_000
    elif name == "google.protobuf.Timestamp":
        message.seconds, millis = divmod(int(said), 1000)
        message.nanos = millis * 1_000_000
    elif name == "confluent.type.Decimal":
        _fill_decimal(message, Decimal(str(said)))
    elif name.startswith(_WRAPPERS) and not isinstance(said, dict):
        (field,) = message.DESCRIPTOR.fields
        message.value = _scalar(field, said)
    else:
        return False
    return True


def _fill_decimal(message: Any, said: Decimal) -> None:
    sign, digits, exponent = said.as_tuple()
    unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
    message.value = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    message.scale = -int(exponent)
    message.precision = len(digits)


def _fill_repeated(message: Any, field: Any, said: Any) -> None:
    target = getattr(message, field.name)
    if isinstance(said, dict) and field.type == _MESSAGE and field.message_type.GetOptions().map_entry:
        value_field = field.message_type.fields_by_name["value"]
        for key, value in said.items():
            key_scalar = _scalar(field.message_type.fields_by_name["key"], key)
            if value_field.type == _MESSAGE:
                _fill(target[key_scalar], value)
            else:
                target[key_scalar] = _scalar(value_field, value)
    elif isinstance(said, dict):
        for key, value in said.items():
            _fill(target.add(), {"key": key, "value": value})
    elif field.type == _MESSAGE:
        for each in said:
            _fill(target.add(), each)
    else:
        target.extend(_scalar(field, each) for each in said)


def _scalar(field: Any, said: Any) -> Any:
    if field.type == _BYTES:
        return base64.b64decode(said)
    if field.type in (_DOUBLE, _FLOAT):
        return float(said)
    if field.type == _ENUM:
        return field.enum_type.values_by_name[said].number
    if field.type == _STRING:
        return said if isinstance(said, str) else str(said)
    return bool(said) if field.type == _BOOL else int(said)


def _value(message: Any, unwraps: bool) -> Any:
    descriptor = message.DESCRIPTOR
    match descriptor.full_name:
        case "google.type.Date":
            return (date(message.year, message.month, message.day) - _EPOCH).days
        case "google.type.TimeOfDay":
            seconds = message.hours * 3600 + message.minutes * 60 + message.seconds
            return seconds * 1000 + message.nanos // 1_000_000
        case "google.protobuf.Timestamp":
            return message.seconds * 1000 + message.nanos // 1_000_000
        case "confluent.type.Decimal":
            unscaled = int.from_bytes(message.value, "big", signed=True)
            return Decimal(unscaled).scaleb(-message.scale)
        case name if unwraps and name.startswith(_WRAPPERS):
            return message.value
    return {field.name: _field_value(message, field, unwraps) for field in descriptor.fields}


def _field_value(message: Any, field: Any, unwraps: bool) -> Any:
    found = getattr(message, field.name)
    if not _is_repeated(field):
        if field.has_presence and not message.HasField(field.name):
            return None
        return _single(field, found, unwraps)
    if field.type != _MESSAGE:
        return [_single(field, each, unwraps) for each in found]
    entry = field.message_type
    if entry.GetOptions().map_entry:
        value_field = entry.fields_by_name["value"]
        return {_map_key(key): _single(value_field, value, unwraps) for key, value in found.items()}
    if entry.name.endswith("Entry") and {each.name for each in entry.fields} == {"key", "value"}:
        entries = [_value(each, unwraps) for each in found]
        return {each["key"]: each["value"] for each in entries}
    return [_value(each, unwraps) for each in found]


def _map_key(key: Any) -> Any:
    return key if isinstance(key, str) else str(key)


def _single(field: Any, found: Any, unwraps: bool) -> Any:
    if field.type == _MESSAGE:
        return _value(found, unwraps)
    if field.type == _ENUM:
        return field.enum_type.values_by_number[found].name
    return found


def _is_repeated(field: Any) -> bool:
    return bool(field.is_repeated)
