"""Statements that went wrong somewhere: they are read and planned, or refused, and nothing else happens."""

from __future__ import annotations

import pytest

from tests.ksql.cases import FOLDER, MISSING
from tests.ksql.fuzz import fuzz

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=MISSING)
_STATEMENTS = 2500


@pytest.mark.parametrize("seed", [20, 21])
def test_a_mutated_statement_is_planned_or_refused(seed: int) -> None:
    found = fuzz(FOLDER, _STATEMENTS, seed)
    assert found.wrong == []
    # Far from all are mere mistakes of grammar: trees and the planner are tried, too.
    assert found.ends["read"] > 500
    assert found.ends["planned"] > 50
    assert len(found.ends) > 15
