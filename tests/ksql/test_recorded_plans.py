"""ksqlDB's recorded plans read as our steps, and are written again as they were."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.sql.planning.as_json import plan_as_json, plan_from_json
from tests.ksql.cases import FOLDER, MISSING, recorded_plans

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=MISSING)


def test_recorded_plans_are_read_and_written_again_as_they_were() -> None:
    statements = [each for plan in recorded_plans(FOLDER / "plans").values() for each in plan["statements"]]
    different = [each for each in statements if _told(plan_as_json(plan_from_json(each))) != _told(each)]
    assert not different
    assert len(statements) == 2512


def _told(node: Any) -> Any:
    """Without what is null or empty: older versions leave it out."""
    if isinstance(node, dict):
        return {name: told for name, value in node.items() if (told := _told(value)) not in (None, {})}
    if isinstance(node, list):
        return [_told(each) for each in node]
    return node
