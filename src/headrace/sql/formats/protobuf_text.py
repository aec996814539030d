"""The text of ``.proto`` files: read as far as schemas need it, and written as a registry would."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

_TOKENS = re.compile(
    r"""
    (?P<blank>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<word>\.?[A-Za-z_][\w.]*)
  | (?P<number>[+-]?(?:0[xX][0-9a-fA-F]+|\d[\w.+-]*))
  | (?P<sign>[{}\[\]()<>=;,:/+-])
    """,
    re.VERBOSE | re.DOTALL,
)
_LABELS = {"optional", "repeated", "required"}


@dataclass(frozen=True, slots=True)
class ProtoField:
    """A field; ``key_type`` is that of a map, ``params`` are what Confluent's tools note beside a field."""

    name: str
    number: int
    type: str
    label: str = ""
    oneof: str | None = None
    key_type: str | None = None
    params: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProtoEnum:
    """An enumeration: names and their numbers."""

    name: str
    values: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class ProtoMessage:
    """A message with everything declared inside it."""

    name: str
    fields: tuple[ProtoField, ...] = ()
    messages: tuple[ProtoMessage, ...] = ()
    enums: tuple[ProtoEnum, ...] = ()


@dataclass(frozen=True, slots=True)
class ProtoFile:
    """A file."""

    messages: tuple[ProtoMessage, ...]
    enums: tuple[ProtoEnum, ...] = ()
    package: str = ""
    imports: tuple[str, ...] = ()
    syntax: str = "proto3"

    @property
    def names(self) -> list[str]:
        """The full names of the messages, outermost only, in their order."""
        return [f"{self.package}.{each.name}" if self.package else each.name for each in self.messages]


def parse_proto(text: str) -> ProtoFile:
    """The file; services, extensions and options that say nothing about values are passed over.

    >>> parse_proto('message A { repeated int32 b = 1; }').messages[0].fields[0].label
    'repeated'
    """
    return _Parser(text).file()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    def file(self) -> ProtoFile:
        syntax, package = "proto2", ""
        imports: list[str] = []
        messages: list[ProtoMessage] = []
        enums: list[ProtoEnum] = []
        while self._at < len(self._tokens):
            word = self._next()
            if word in {"syntax", "edition"}:
                # Fields of an edition are read as those of proto3.
                said = self._assigned_text()
                syntax = said if word == "syntax" else "proto3"
            elif word == "package":
                package = self._next()
                self._expect(";")
            elif word == "import":
                imports.append(self._import())
            elif word == "message":
                messages.append(self._message())
            elif word == "enum":
                enums.append(self._enum())
            elif word != ";":
                self._skip_declaration(word)
        return ProtoFile(tuple(messages), tuple(enums), package, tuple(imports), syntax)

    def _import(self) -> str:
        word = self._next()
        name = self._next() if word in {"public", "weak"} else word
        self._expect(";")
        return name[1:-1]

    def _assigned_text(self) -> str:
        self._expect("=")
        text = self._next()
        self._expect(";")
        return text[1:-1]

    def _message(self) -> ProtoMessage:
        name = self._next()
        self._expect("{")
        fields: list[ProtoField] = []
        messages: list[ProtoMessage] = []
        enums: list[ProtoEnum] = []
        while (word := self._next()) != "}":
            if word == "message" and self._peek(1) == "{":
                messages.append(self._message())
            elif word == "enum" and self._peek(1) == "{":
                enums.append(self._enum())
            elif word == "oneof" and self._peek(1) == "{":
                fields += self._oneof()
            elif word in {"option", "reserved", "extensions", "extend"}:
                self._skip_declaration(word)
            elif word != ";":
                fields.append(self._field(word, None))
        return ProtoMessage(name, tuple(fields), tuple(messages), tuple(enums))

    def _oneof(self) -> list[ProtoField]:
        name = self._next()
        self._expect("{")
        fields = []
        while (word := self._next()) != "}":
            if word == "option":
                self._skip_declaration(word)
            elif word != ";":
                fields.append(self._field(word, name))
        return fields

    def _field(self, word: str, oneof: str | None) -> ProtoField:
        label = word if word in _LABELS else ""
        type_ = self._next() if label else word
        if type_ == "group":
            raise ValueError("groups are not supported")
        key_type = None
        if type_ == "map" and self._peek() == "<":
            self._expect("<")
            key_type = self._next()
            self._expect(",")
            type_ = self._next()
            self._expect(">")
        name = self._next()
        self._expect("=")
        number = int(self._next(), 0)
        params = self._params() if self._peek() == "[" else {}
        self._expect(";")
        return ProtoField(name, number, type_, label, oneof, key_type, params)

    def _params(self) -> dict[str, str]:
        """Texts with a key and a value, wherever they are in the options of a field."""
        start, depth = self._at, 0
        while True:
            word = self._next()
            depth += (word in {"[", "{"}) - (word in {"]", "}"})
            if depth == 0:
                break
        options = " ".join(self._tokens[start : self._at])
        return dict(re.findall(r'key : "([^"]*)" ,? ?value : "([^"]*)"', options))

    def _enum(self) -> ProtoEnum:
        name = self._next()
        self._expect("{")
        values: list[tuple[str, int]] = []
        while (word := self._next()) != "}":
            if word in {"option", "reserved"} and self._peek() != "=":
                self._skip_declaration(word)
            elif word != ";":
                self._expect("=")
                values.append((word, int(self._next(), 0)))
                self._skip_declaration(word)
        return ProtoEnum(name, tuple(values))

    def _skip_declaration(self, word: str) -> None:
        """To its end: a semicolon, or the end of its block."""
        if word not in {"option", "service", "extend", "reserved", "extensions"} and self._peek() not in {";", "["}:
            self._fail(word)
        depth = 0
        while True:
            word = self._next()
            depth += (word in {"{", "["}) - (word in {"}", "]"})
            if depth == 0 and (word == ";" or (word == "}" and self._peek() != ";")):
                return

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise ValueError("the text of the schema ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def _expect(self, word: str) -> None:
        if (found := self._next()) != word:
            self._fail(found, word)

    def _fail(self, found: str, expected: str = "a declaration") -> NoReturn:
        message = f"expected {expected} in the schema, found {found}"
        raise ValueError(message)


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        found = _TOKENS.match(text, at)
        if found is None:
            message = f"{text[at : at + 20]!r} is no part of a Protobuf schema"
            raise ValueError(message)
        at = found.end()
        if found.lastgroup == "text":
            yield '"' + found[0][1:-1] + '"'
        elif found.lastgroup != "blank":
            yield found[0]


def proto_text(file: ProtoFile) -> str:
    """The text of a file, as Confluent's registry formats it."""
    parts = [f'syntax = "{file.syntax}";\n']
    if file.package:
        parts.append(f"package {file.package};\n")
    if file.imports:
        parts.append("\n" + "".join(f'import "{name}";\n' for name in file.imports))
    parts.append("\n" + "".join(map(_message_text, file.messages)) + "".join(map(_enum_text, file.enums)))
    return "".join(parts)


def _message_text(message: ProtoMessage) -> str:
    oneofs = dict.fromkeys(each.oneof for each in message.fields if each.oneof)
    groups = (
        [_field_text(each) for each in message.fields if each.oneof is None],
        [_oneof_text(name, [each for each in message.fields if each.oneof == name]) for name in oneofs],
        [*map(_message_text, message.messages), *map(_enum_text, message.enums)],
    )
    inside = "".join("\n" + _indented("".join(group)) for group in groups if group)
    return f"message {message.name} {{{inside}}}\n"


def _oneof_text(name: str | None, fields: list[ProtoField]) -> str:
    return f"oneof {name} {{\n{_indented(''.join(map(_field_text, fields)))}}}\n"


def _enum_text(enum: ProtoEnum) -> str:
    values = "".join(f"{name} = {number};\n" for name, number in enum.values)
    return f"enum {enum.name} {{\n{_indented(values)}}}\n"


def _field_text(each: ProtoField) -> str:
    type_ = f"map<{each.key_type}, {each.type}>" if each.key_type else each.type
    label = f"{each.label} " if each.label else ""
    return f"{label}{type_} {each.name} = {each.number}{_params_text(each.params)};\n"


def _params_text(params: dict[str, str]) -> str:
    if not params:
        return ""
    pairs = ",\n".join(f'    {{\n      key: "{key}",\n      value: "{value}"\n    }}' for key, value in params.items())
    return f" [(confluent.field_meta) = {{\n  params: [\n{pairs}\n  ]\n}}]"


def _indented(text: str) -> str:
    return "".join(f"  {line}" if line.strip() else line for line in text.splitlines(keepends=True))
