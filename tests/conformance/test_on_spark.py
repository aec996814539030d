"""The engine on Spark gives what the test driver gives: a sample over all families, over partitions, cut at random."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.conformance.engines import ENGINES
from tests.conformance.on_batches import Layout, differences
from tests.conformance.sampling import sample

_CASES = 104
_FEW_BATCHES = Layout(1, most_records=1000, is_limited=False)
_LAYOUTS = [_FEW_BATCHES, replace(_FEW_BATCHES, partitions=2), replace(_FEW_BATCHES, partitions=2, caches=True)]


@pytest.mark.parametrize(("case", "layout"), sample("spark", _LAYOUTS, per_family=3, short=True)[:_CASES])
def test_spark_writes_what_the_driver_writes(case: Any, layout: Layout, spark: Any) -> None:
    assert differences(case, layout, ENGINES["spark"]) == []
