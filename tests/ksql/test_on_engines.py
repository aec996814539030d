"""Cases on engines, over a broker: the same records as from the test driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conformance.engines import ENGINES
from tests.ksql.cases import FOLDER, MISSING, Case, cases
from tests.ksql.errors import ErrorRules
from tests.ksql.functions import with_test_functions
from tests.ksql.on_engines import EngineCaseRun, can_run_on_engines

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=MISSING)
_CHUNKS = 8


def sampled(every: int) -> list[Case]:
    """Every so manyth of the cases that have results."""
    found = [case for case in cases(FOLDER / "qtt") if case.expected_error is None and can_run_on_engines(case)]
    return found[::every]


def wrong_on(engine: str, sample: list[Case], directory: Path) -> list[str]:
    """The cases that end otherwise there, and why."""
    functions, rules = with_test_functions(), ErrorRules(FOLDER / "error-rules.json")
    outcomes = [(case, EngineCaseRun(case, functions, rules, ENGINES[engine], directory).outcome()) for case in sample]
    return [f"{case.id}: {outcome.reason}" for case, outcome in outcomes if not outcome.passed]


@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_cases_give_the_same_on_batches(chunk: int, tmp_path: Path) -> None:
    assert wrong_on("batches", sampled(10)[chunk::_CHUNKS], tmp_path) == []


@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_cases_give_the_same_on_spark(chunk: int, tmp_path: Path, spark: Any) -> None:
    assert wrong_on("spark", sampled(100)[chunk::_CHUNKS], tmp_path) == []
