"""ksqlDB's REST cases: their statements, pull and push queries give what ksqlDB's server gives."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.ksql.cases import FOLDER, MISSING, cases
from tests.ksql.errors import ErrorRules
from tests.ksql.functions import with_test_functions
from tests.ksql.outcomes import Kind
from tests.ksql.rest.running import RestRun

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=MISSING)


def test_statements_and_queries_are_answered_as_by_ksqldb() -> None:
    functions, rules = with_test_functions(), ErrorRules(FOLDER / "error-rules.json")
    found = Counter(RestRun(case, functions, rules).outcome().kind for case in cases(FOLDER / "rqtt"))
    assert found[Kind.CRASHED] == 0
    assert found[Kind.PASSED] >= 256
