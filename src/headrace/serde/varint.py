"""Kafka's variable-length integers: zig-zag, then seven bits to a byte, lowest first."""

from __future__ import annotations

_MAX_SIZE = 5


def write_varint(number: int) -> bytes:
    r"""The bytes of ``number``.

    >>> write_varint(-1), write_varint(300)
    (b'\x01', b'\xd8\x04')
    """
    zigzag = number << 1 if number >= 0 else (-number << 1) - 1
    groups = bytearray()
    while zigzag > 0x7F:
        groups.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    groups.append(zigzag)
    return bytes(groups)


def read_varint(data: bytes, start: int = 0) -> tuple[int, int]:
    """The number at ``start`` of ``data`` and the position after it. Raises ValueError where there is none."""
    zigzag = shift = 0
    for at in range(start, min(start + _MAX_SIZE, len(data))):
        byte = data[at]
        zigzag |= (byte & 0x7F) << shift
        if byte < 0x80:
            return zigzag >> 1 ^ -(zigzag & 1), at + 1
        shift += 7
    message = f"no variable-length integer at byte {start}"
    raise ValueError(message)
