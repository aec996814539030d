"""The batch engine gives what the test driver gives: a sample over all families, over partitions, cut at random."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.engines import ENGINES
from tests.conformance.on_batches import Layout, differences
from tests.conformance.sampling import sample

_LAYOUTS = [
    *(Layout(partitions) for partitions in (1, 2, 4)),
    *(Layout(partitions, caches=True) for partitions in (1, 2, 4)),
]
_HURRIED = [layout.in_few_batches() for layout in _LAYOUTS]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable()
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize(("case", "layout"), sample("batches", _LAYOUTS, per_family=3))
def test_the_batch_engine_writes_what_the_driver_writes(case: Any, layout: Layout) -> None:
    assert differences(case, layout, ENGINES["batches"]) == []


@pytest.mark.parametrize(("case", "layout"), sample("hurried", _HURRIED, per_family=2))
def test_visits_that_end_early_show_in_nothing(case: Any, layout: Layout) -> None:
    assert differences(case, layout, ENGINES["hurried"]) == []
