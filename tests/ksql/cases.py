"""The cases of a folder, as its README describes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2].parent / "shared" / "ksql-cases"
MISSING = f"{FOLDER} is not there: ksqlDB's cases are kept outside the project"


@dataclass(frozen=True)
class Case:
    """One case; ``node`` has everything else that it says."""

    id: str
    statements: tuple[str, ...]
    properties: dict[str, str]
    node: dict[str, Any]

    @property
    def file(self) -> str:
        """The file that it stands in."""
        return self.id.partition("/")[2].partition(" - ")[0]

    @property
    def text(self) -> str:
        """All statements at once, as they are parsed."""
        return "\n".join(self.statements)

    @property
    def expected_error(self) -> dict[str, Any] | None:
        """What the last statement must raise."""
        return self.node.get("expectedException") or self.node.get("expectedError")


def cases(folder: Path) -> Iterator[Case]:
    """Every case below a folder of JSON lines."""
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            node = json.loads(line, parse_float=Decimal)
            yield Case(node["id"], tuple(node["statements"]), node.get("properties") or {}, node)


def recorded_plans(folder: Path) -> dict[str, dict[str, Any]]:
    """What ksqlDB planned, by the id of the case."""
    lines = (line for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines())
    return {plan["id"]: plan for plan in map(json.loads, lines)}
