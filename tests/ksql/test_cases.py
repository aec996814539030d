"""All cases from statements to results. They are told apart by their place here, so that they spread over workers."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import pytest

from headrace.sql.functions import Registry
from tests.ksql.cases import FOLDER, MISSING, Case, cases
from tests.ksql.errors import ErrorRules
from tests.ksql.functions import with_test_functions
from tests.ksql.running import CaseRun

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=MISSING)
_CHUNKS = 32
_NOT_YET: dict[str, str] = {}
"""Cases that fail, by a digest of their names, and why. One that passes must be taken out of here."""


@lru_cache
def all_cases() -> list[Case]:
    return list(cases(FOLDER / "qtt"))


@lru_cache
def functions() -> Registry:
    return with_test_functions()


@pytest.mark.parametrize("chunk", range(_CHUNKS))
def test_cases_end_as_in_ksqldb(chunk: int) -> None:
    rules = ErrorRules(FOLDER / "error-rules.json")
    wrong = []
    for case in all_cases()[chunk::_CHUNKS]:
        outcome = CaseRun(case, functions(), rules).outcome()
        if outcome.passed is (_digest(case) in _NOT_YET):
            wrong.append(f"{_digest(case)} {case.id}: {outcome.reason[:300]}")
    assert not wrong


def test_all_cases_are_run() -> None:
    assert len(all_cases()) == 1431


def _digest(case: Case) -> str:
    return hashlib.sha256(case.id.encode()).hexdigest()[:12]
