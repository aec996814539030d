"""About how many different values there are, by the sketch that ksqlDB keeps.

It is HyperLogLog with 2**14 registers of five bits, six in a word, fed with a 32-bit Murmur hash.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

from headrace.sql.functions.declare import aggregate
from headrace.sql.tree import types
from headrace.sql.types.java_text import text_of
from headrace.sql.types.numbers import wrap32

_BITS = 14
_REGISTERS = 1 << _BITS
_IN_WORD, _REGISTER_BITS, _REGISTER = 6, 5, 0x1F
_WORDS = _REGISTERS // _IN_WORD + 1
_ALPHA = 0.7213 / (1 + 1.079 / _REGISTERS) * _REGISTERS * _REGISTERS
_MULTIPLIER, _WORD = 0x5BD1E995, 0xFFFFFFFF


@aggregate(
    "COUNT_DISTINCT",
    "(T value) -> BIGINT",
    stored_as="ARRAY<INTEGER>",
    typed=True,
    description="About how many different values there are that are not null.",
)
class CountDistinct:
    """Good to about one percent."""

    def __init__(self, *, types: Sequence[Any]) -> None:
        self._type = types[0]

    def initial(self) -> list[int]:
        return [0] * _WORDS

    def add(self, value: Any, words: list[int]) -> list[int]:
        if value is None:
            return words
        code = value_hash(value, self._type)
        word, place = divmod(code >> (32 - _BITS), _IN_WORD)
        rest = (code << _BITS & _WORD) | (1 << (_BITS - 1)) + 1
        rank = 33 - rest.bit_length()
        shift = place * _REGISTER_BITS
        if words[word] >> shift & _REGISTER >= rank:
            return words
        changed = words[word] & ~(_REGISTER << shift) | rank << shift
        return [*words[:word], changed, *words[word + 1 :]]

    def merge(self, left: list[int], right: list[int]) -> list[int]:
        return [one if one == other else _greatest(one, other) for one, other in zip(left, right, strict=True)]

    def result(self, words: list[int]) -> int:
        counts = [0] * 32
        for index, word in enumerate(words):
            for place in range(min(_IN_WORD, _REGISTERS - index * _IN_WORD)):
                counts[word >> place * _REGISTER_BITS & _REGISTER] += 1
        total = math.fsum(count / (1 << value) for value, count in enumerate(counts))
        estimate = _ALPHA / total
        if estimate <= 2.5 * _REGISTERS and counts[0]:
            estimate = _REGISTERS * math.log(_REGISTERS / counts[0])
        return math.floor(estimate + 0.5)


def _greatest(one: int, other: int) -> int:
    masks = (_REGISTER << place * _REGISTER_BITS for place in range(_IN_WORD))
    return sum(max(one & mask, other & mask) for mask in masks)


def value_hash(value: Any, type_: types.SqlType) -> int:
    """The hash of a value, as an unsigned 32-bit number."""
    if type_ in (types.INTEGER, types.BIGINT):
        return _hash_of_long(value)
    if type_ == types.DOUBLE:
        return _hash_of_long(int.from_bytes(struct.pack(">d", value), "big"))
    text = value if type_ == types.STRING else text_of(value, type_)
    return _hash_of_bytes(text.encode(errors="replace"))


def _hash_of_long(number: int) -> int:
    low, high = number & _WORD, number >> 32 & _WORD
    code = _mixed(low)
    return _finished(code * _MULTIPLIER & _WORD ^ _mixed(high))


def _mixed(part: int) -> int:
    part = part * _MULTIPLIER & _WORD
    return (part ^ part >> 24) * _MULTIPLIER & _WORD


def _hash_of_bytes(data: bytes) -> int:
    code = _WORD ^ len(data)
    whole = len(data) & ~3
    for (part,) in struct.iter_unpack("<I", data[:whole]):
        code = code * _MULTIPLIER & _WORD ^ _mixed(part)
    if len(data) > whole:
        # The last bytes are taken from the end, and keep their sign.
        for shift, byte in zip((0, 8, 16), reversed(data[whole:]), strict=False):
            code ^= wrap32((byte - 256 if byte > 127 else byte) << shift) & _WORD
        code = code * _MULTIPLIER & _WORD
    return _finished(code)


def _finished(code: int) -> int:
    code = (code ^ code >> 13) * _MULTIPLIER & _WORD
    return code ^ code >> 15
