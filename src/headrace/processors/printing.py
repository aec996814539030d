"""Writes records as lines of text, to the standard output or to a file: ``KStream.print``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from headrace.processors.api import NodeContext
from headrace.processors.stateless import Stateless
from headrace.records import Record


def key_and_value(key: Any, value: Any) -> str:
    """``key, value``, with Java's word for nothing."""
    return f"{_text(key)}, {_text(value)}"


def _text(value: Any) -> str:
    return "null" if value is None else str(value)


@dataclass
class Print(Stateless):
    """Write ``[label]: `` and what ``mapper(key, value)`` returns.

    The standard output is flushed after each line; a file is when the task closes.
    """

    label: str
    mapper: Callable[[Any, Any], Any]
    path: Path | None = None
    _file: TextIO | None = None

    def init(self, context: NodeContext) -> None:
        super().init(context)
        if self.path is not None:
            self._file = self.path.open("a", encoding="utf-8")

    def process(self, record: Record[Any, Any]) -> None:
        line = f"[{self.label}]: {_text(self.mapper(record.key, record.value))}\n"
        if self._file is not None:
            self._file.write(line)
        else:
            sys.stdout.write(line)
            sys.stdout.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
