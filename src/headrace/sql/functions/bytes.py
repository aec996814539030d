"""BYTES, and what stands between them and texts and numbers."""

from __future__ import annotations

import base64
import binascii
import re
import struct

from headrace.sql.functions.declare import scalar
from headrace.sql.functions.sizes import check_length
from headrace.sql.functions.strings import end_index, start_index

_BASE64 = re.compile("[A-Za-z0-9+/]*={0,2}", re.ASCII)
_HEX = re.compile("(?:[0-9a-fA-F]{2})*", re.ASCII)


@scalar("LEN", "(BYTES bytes) -> INTEGER", description="The number of bytes.")
def length(data: bytes | None) -> int | None:
    return None if data is None else len(data)


@scalar("CONCAT", "(BYTES... bytes) -> BYTES", description="The bytes in a row; nulls count as nothing.")
def concat(*parts: bytes | None) -> bytes:
    return b"".join(part for part in parts if part is not None)


@scalar("CONCAT_WS", "(BYTES... separator_and_bytes) -> BYTES", description="The bytes, with the first ones between.")
def concat_with_separator(*parts: bytes | None) -> bytes | None:
    if len(parts) < 2:
        raise ValueError("CONCAT_WS needs a separator and at least one more argument")
    separator, *others = parts
    return None if separator is None else separator.join(part for part in others if part is not None)


@scalar("SUBSTRING", "(BYTES bytes, INTEGER start) -> BYTES", description="From a position on.")
def substring_from(data: bytes | None, start: int | None) -> bytes | None:
    return None if data is None or start is None else data[start_index(len(data), start) :]


@scalar("SUBSTRING", "(BYTES bytes, INTEGER start, INTEGER length) -> BYTES", description="So many from a position on.")
def substring(data: bytes | None, start: int | None, count: int | None) -> bytes | None:
    if data is None or start is None or count is None:
        return None
    first = start_index(len(data), start)
    return data[first : end_index(first, count)]


_PAD = "(BYTES bytes, INTEGER length, BYTES padding) -> BYTES"


@scalar("LPAD", _PAD, description="Filled up on the left, or cut off on the right, to a length.")
def pad_left(data: bytes | None, size: int | None, padding: bytes | None) -> bytes | None:
    if data is None or size is None or not padding or size < 0:
        return None
    return (_padding(padding, size - len(data)) + data)[:size]


@scalar("RPAD", _PAD, description="Filled up, or cut off, on the right to a length.")
def pad_right(data: bytes | None, size: int | None, padding: bytes | None) -> bytes | None:
    if data is None or size is None or not padding or size < 0:
        return None
    return (data + _padding(padding, size - len(data)))[:size]


def _padding(padding: bytes, size: int) -> bytes:
    check_length(size)
    return (padding * (max(size, 0) // len(padding) + 1))[: max(size, 0)]


@scalar(
    "SPLIT", "(BYTES bytes, BYTES delimiter) -> ARRAY<BYTES>", description="The parts; an empty delimiter splits bytes."
)
def split(data: bytes | None, delimiter: bytes | None) -> list[bytes] | None:
    if data is None or delimiter is None:
        return None
    if not data:
        return [b""]
    return data.split(delimiter) if delimiter else [bytes([byte]) for byte in data]


# Texts


def _ascii_text(data: bytes) -> str:
    return "".join(chr(byte) if byte < 128 else "�" for byte in data)


def _base64_bytes(text: str) -> bytes:
    digits = text.rstrip("=")
    if not _BASE64.fullmatch(text) or len(digits) % 4 == 1 or (digits != text and len(text) % 4):
        message = f"{text!r} is not in base64"
        raise ValueError(message)
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


def _hex_bytes(text: str) -> bytes:
    if not _HEX.fullmatch(text):
        message = f"{text!r} is not in hexadecimal digits"
        raise ValueError(message)
    return bytes.fromhex(text)


@scalar(
    "FROM_BYTES", "(BYTES bytes, STRING encoding) -> STRING", description="The text of bytes: hex, utf8, ascii, base64."
)
def from_bytes(data: bytes | None, encoding: str | None) -> str | None:
    if data is None or encoding is None:
        return None
    match _encoding(encoding):
        case "hex":
            return data.hex().upper()
        case "utf8":
            return data.decode(errors="replace")
        case "ascii":
            return _ascii_text(data)
        case _:
            return base64.b64encode(data).decode()


@scalar(
    "TO_BYTES", "(STRING text, STRING encoding) -> BYTES", description="The bytes of a text: hex, utf8, ascii, base64."
)
def to_bytes(text: str | None, encoding: str | None) -> bytes | None:
    if text is None or encoding is None:
        return None
    match _encoding(encoding):
        case "hex":
            return _hex_bytes(text)
        case "utf8":
            return text.encode(errors="replace")
        case "ascii":
            return text.encode("ascii", errors="replace")
        case _:
            return _base64_bytes(text)


def _encoding(name: str) -> str:
    if name.lower() not in ("hex", "utf8", "ascii", "base64"):
        message = f"there is no encoding {name!r}, but hex, utf8, ascii and base64"
        raise ValueError(message)
    return name.lower()


@scalar("ENCODE", "(STRING text, STRING from, STRING to) -> STRING", description="A text from one encoding in another.")
def encode(text: str | None, from_: str | None, to: str | None) -> str | None:
    if text is None or from_ is None or to is None:
        return None
    source, target = _encoding(from_), _encoding(to)
    if source == target:
        message = f"ENCODE from {from_} to {to} has nothing to do"
        raise ValueError(message)
    data = _loose_bytes(text, source)
    return data.hex() if target == "hex" else from_bytes(data, target)


def _loose_bytes(text: str, encoding: str) -> bytes:
    """Hexadecimal digits may be written 0x.. or X'..'; base64 may hold other characters, which do not count."""
    if encoding == "hex":
        return _hex_bytes(_bare_hex(text))
    if encoding == "base64":
        digits = re.sub("[^A-Za-z0-9+/]", "", text.replace("-", "+").replace("_", "/").partition("=")[0])
        return binascii.a2b_base64(digits[: len(digits) - (len(digits) % 4 == 1)] + "==")
    return text.encode("ascii" if encoding == "ascii" else "utf-8", errors="replace")


def _bare_hex(text: str) -> str:
    if text.startswith("0x"):
        return ("0" if len(text) % 2 else "") + text[2:]
    return text[2:-1] if re.fullmatch("[xX]'.*'", text) else text


# Numbers


def _unpacked(data: bytes | None, order: str | None, form: str) -> tuple[float, ...]:
    orders = {"BIG_ENDIAN": ">", "LITTLE_ENDIAN": "<"}
    if order is None or order.upper() not in orders:
        message = f"the order of bytes is BIG_ENDIAN or LITTLE_ENDIAN, not {order}"
        raise ValueError(message)
    if data is None:
        return ()
    if len(data) != struct.calcsize(form):
        message = f"there must be {struct.calcsize(form)} bytes, and there are {len(data)}"
        raise ValueError(message)
    return struct.unpack(orders[order.upper()] + form, data)


@scalar(
    "INT_FROM_BYTES",
    "(BYTES bytes) -> INTEGER",
    "(BYTES bytes, STRING order) -> INTEGER",
    description="An INTEGER of 4 bytes.",
)
def int_from_bytes(data: bytes | None, order: str | None = "BIG_ENDIAN") -> float | None:
    return next(iter(_unpacked(data, order, "i")), None)


@scalar(
    "BIGINT_FROM_BYTES",
    "(BYTES bytes) -> BIGINT",
    "(BYTES bytes, STRING order) -> BIGINT",
    description="A BIGINT of 8 bytes.",
)
def bigint_from_bytes(data: bytes | None, order: str | None = "BIG_ENDIAN") -> float | None:
    return next(iter(_unpacked(data, order, "q")), None)


@scalar(
    "DOUBLE_FROM_BYTES",
    "(BYTES bytes) -> DOUBLE",
    "(BYTES bytes, STRING order) -> DOUBLE",
    description="A DOUBLE of 8 bytes.",
)
def double_from_bytes(data: bytes | None, order: str | None = "BIG_ENDIAN") -> float | None:
    return next(iter(_unpacked(data, order, "d")), None)
