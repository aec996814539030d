"""What is known of serdes without calling them for each record: what they can read, and write again as it was."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from headrace.serde.primitives import BytesSerde, IntegerSerde, StringSerde


def reads_all(serde: Any, pieces: Collection[bytes]) -> bool:
    r"""Whether ``serde`` certainly reads each of the pieces, to something other than None; False where it is not known.

    >>> reads_all(StringSerde(), [b"a", b"\xff"])
    True
    """
    if type(serde) is StringSerde or type(serde) is BytesSerde:
        return True
    return type(serde) is IntegerSerde and set(map(len, pieces)) <= {serde.fixed_size}


def keeps_all(serde: Any, pieces: Collection[bytes]) -> bool:
    r"""Whether each of the pieces, read by ``serde`` and written again, is certainly what it was before.

    >>> keeps_all(StringSerde(), [b"a", b"\xff"])
    False
    """
    if type(serde) is StringSerde:
        try:
            # No character goes on beyond a zero byte: together they are UTF-8 exactly if each of them is.
            b"\0".join(pieces).decode()
        except UnicodeDecodeError:
            return False
        return True
    return reads_all(serde, pieces)
