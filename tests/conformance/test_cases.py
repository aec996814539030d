"""The cases that come with the project, and every case of the folder beside it, when that is there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases import load_cases
from tests.conformance.compare import check_case

OURS = Path(__file__).parent / "cases"
BESIDE = Path(os.environ.get("HEADRACE_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))


def case_name(case: Any) -> str:
    return f"{case['family']}/{case['name']}"


CASES = [*load_cases(OURS), *load_cases(BESIDE)]


@pytest.mark.parametrize(
    ("case", "in_batches"),
    [pytest.param(case, number % 2 == 1, id=case_name(case)) for number, case in enumerate(CASES)],
)
def test_case(case: Any, in_batches: bool) -> None:
    """Every second case goes through the loops that production runs."""
    verdict = check_case(case, in_batches=in_batches)
    assert verdict.differences == {}
