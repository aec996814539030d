"""What every format offers: rows to bytes and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Codec(Protocol):
    """Rows of certain columns in one format.

    What cannot be written or read raises ValueError or a subclass; its text says which column and why.
    """

    def write(self, topic: str, row: Sequence[Any]) -> bytes | None:
        """The bytes of the row; None where the format has none for it."""

    def read(self, topic: str, data: bytes) -> list[Any] | None:
        """The row of the bytes; None where the format reads them as no row at all."""


class Nothing:
    """The format of no columns: neither written nor looked at."""

    def write(self, topic: str, row: Sequence[Any]) -> bytes | None:
        return None

    def read(self, topic: str, data: bytes) -> list[Any] | None:
        return None
