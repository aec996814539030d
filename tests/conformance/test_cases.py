"""Every case of the folder beside the project, when it is there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.cases import load_cases
from tests.conformance.compare import check_case

_DIRECTORY = Path(os.environ.get("HEADRACE_CONFORMANCE", Path(__file__).parents[3] / "shared" / "conformance"))


@pytest.mark.parametrize("case", load_cases(_DIRECTORY), ids=lambda case: f"{case['family']}/{case['name']}")
def test_case(case: Any) -> None:
    verdict = check_case(case)
    assert verdict.differences == {}
