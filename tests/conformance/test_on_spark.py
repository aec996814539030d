"""The engine on Spark gives what the test driver gives: a sample over all families, over partitions, cut at random."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.engines import ENGINES
from tests.conformance.on_batches import Layout, differences
from tests.conformance.sampling import sample

_CASES = 104
_LAYOUTS = [Layout(1), Layout(2), Layout(2, caches=True)]


@pytest.mark.parametrize(
    ("case", "layout"), sample("spark", [each.in_few_batches() for each in _LAYOUTS], per_family=3, short=True)[:_CASES]
)
def test_spark_writes_what_the_driver_writes(case: Any, layout: Layout, spark: Any) -> None:
    assert differences(case, layout, ENGINES["spark"]) == []
