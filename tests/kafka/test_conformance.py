"""The engine on Spark and a real broker gives what the test driver gives: a sample over all families."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.engines import ENGINES
from tests.conformance.on_batches import Layout, differences
from tests.conformance.sampling import sample
from tests.kafka.servers import require_kafka

_CASES = 156
_LAYOUTS = [Layout(1), Layout(2), Layout(2, caches=True)]


@pytest.fixture(scope="module", autouse=True)
def kafka() -> None:
    require_kafka()


@pytest.mark.parametrize(
    ("case", "layout"),
    sample("kafka-spark", [each.in_few_batches() for each in _LAYOUTS], per_family=4, short=True)[:_CASES],
)
def test_spark_on_kafka_writes_what_the_driver_writes(case: Any, layout: Layout, spark: Any) -> None:
    assert differences(case, layout, ENGINES["kafka-spark"]) == []
