"""Cases on engines, over a broker: the same records as from the test driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ksql.cases import FOLDER, MISSING, cases
from tests.ksql.errors import ErrorRules
from tests.ksql.functions import with_test_functions
from tests.ksql.on_engines import outcomes_on, sampled

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=MISSING)
_CHUNKS = 8


def wrong_on(engine: str, every: int, chunk: int, directory: Path) -> list[str]:
    """The cases of a sample that end otherwise there, and why."""
    outcome_of = outcomes_on(engine, with_test_functions(), ErrorRules(FOLDER / "error-rules.json"), directory)
    outcomes = [(case, outcome_of(case)) for case in sampled(cases(FOLDER / "qtt"), every)[chunk::_CHUNKS]]
    return [f"{case.id}: {outcome.reason}" for case, outcome in outcomes if not outcome.passed]


@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_cases_give_the_same_on_batches(chunk: int, tmp_path: Path) -> None:
    assert wrong_on("batches", 10, chunk, tmp_path) == []


@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_cases_give_the_same_on_spark(chunk: int, tmp_path: Path, spark: Any) -> None:
    assert wrong_on("spark", 100, chunk, tmp_path) == []
