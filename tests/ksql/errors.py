"""The errors of statements, compared with ksqlDB's by code: what a message maps to is written down beside the cases."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from headrace.sql.errors import SqlError
from tests.ksql.cases import Case
from tests.ksql.outcomes import PASSED, Kind, Outcome
from tests.ksql.planning import planned

RUNNING = "run.processing"
"""The code of what fails while records flow."""
_PLACE = re.compile(r"line (\d+:\d+)")
_NAMES = re.compile(r"`([^`]+)`|\b([A-Z][A-Z0-9_]*\.[A-Z][A-Z0-9_]*)\b")


class ErrorRules:
    """Which code a message of ksqlDB's stands for."""

    def __init__(self, file: Path) -> None:
        rules = json.loads(file.read_text())
        self._rules = [(rule["code"], re.compile(rule["pattern"], re.DOTALL | re.IGNORECASE)) for rule in rules]

    def code(self, message: str) -> str | None:
        """The code of the first rule that fits."""
        return next((code for code, pattern in self._rules if pattern.search(message)), None)

    def expected(self, said: dict[str, Any]) -> str | None:
        """The code of the error that a case expects."""
        is_running = str(said.get("type", "")).endswith("StreamsException")
        return RUNNING if is_running else self.code(said.get("message") or "")

    def compared(self, said: dict[str, Any], error: Exception) -> Outcome:
        """Whether ``error`` is the one that a case expects: by its code, its place, and the names that it tells."""
        message, code = said.get("message") or "", self.expected(said)
        found = error.code if isinstance(error, SqlError) else RUNNING
        place = _PLACE.search(message)
        wrong = [] if code in (None, found) else ["code"]
        if place and place[1] != str(getattr(error, "place", None)):
            wrong.append("place")
        if code != RUNNING:
            wrong += [name for name in _told(message) if name not in str(error)]
        if not wrong:
            return PASSED
        return Outcome(Kind.WRONG_ERROR, (f"{code}: {message}",), (f"{found}: {error} ({', '.join(wrong)})",))


def _told(message: str) -> list[str]:
    return [quoted or dotted for quoted, dotted in _NAMES.findall(message.partition("\n")[0])]


def planning_error(case: Case) -> SqlError | None:
    """What planning the case raises."""
    try:
        planned(case)
    except SqlError as error:
        return error
    return None
