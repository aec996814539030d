"""The plans of all cases are those that ksqlDB recorded; their errors have ksqlDB's codes."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.ksql.cases import FOLDER, MISSING, cases
from tests.ksql.outcomes import Kind
from tests.ksql.plan_cases import PlanCases

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=MISSING)


def test_plans_and_errors_are_those_of_ksqldb() -> None:
    plans = PlanCases(FOLDER)
    found = Counter(plans.outcome(case).kind for case in cases(FOLDER / "qtt"))
    assert found[Kind.CRASHED] == 0
    assert found[Kind.PASSED] >= 1423
