"""Arrow arrays of Python values.

Of few values they are made by hand: ``pa.array`` imports pandas where it is installed, which takes longer than
everything else that a command such as ``headrace produce`` does.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

_FEW = 512


def int64_array(values: Sequence[int | None]) -> Any:
    """An array of numbers.

    >>> int64_array([1, None, 2]).to_pylist()
    [1, None, 2]
    """
    if len(values) > _FEW:
        return pa.array(values, pa.int64())
    data = array("q", [value or 0 for value in values])
    return pa.Array.from_buffers(pa.int64(), len(values), [_presence(values), pa.py_buffer(data)])


def binary_array(values: Sequence[bytes | None]) -> Any:
    """An array of bytes.

    >>> binary_array([b"one", None, b""]).to_pylist()
    [b'one', None, b'']
    """
    if len(values) > _FEW:
        return pa.array(values, pa.binary())
    filled = [value or b"" for value in values]
    ends = array("i", [0, *accumulate(map(len, filled))])
    buffers = [_presence(values), pa.py_buffer(ends), pa.py_buffer(b"".join(filled))]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers)


def _presence(values: Sequence[object]) -> Any:
    """A bit for each value, the lowest first; None where all are there."""
    if None not in values:
        return None
    bits = sum(1 << number for number, value in enumerate(values) if value is not None)
    return pa.py_buffer(bits.to_bytes(len(values) // 8 + 1, "little"))
