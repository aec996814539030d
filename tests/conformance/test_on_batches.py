"""The batch engine gives what the test driver gives: a sample of the cases, each input as a batch of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.cases import load_cases
from tests.conformance.on_batches import can_run, run_on_batches
from tests.conformance.test_cases import BESIDE, OURS, case_name

_EVERY = 10


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


_RUNNABLE = [case for case in [*load_cases(OURS), *load_cases(BESIDE)] if can_run(case)]


@pytest.mark.parametrize("case", _RUNNABLE[::_EVERY], ids=case_name)
def test_the_batch_engine_writes_what_the_driver_writes(case: Any) -> None:
    on_the_driver, on_batches = run_on_batches(case)
    assert on_batches == on_the_driver
