"""Names, levels and numbers of metrics."""

from __future__ import annotations

import math

import pytest

from headrace.errors import ConfigError
from headrace.metrics import MetricName, RecordingLevel, StreamsMetrics
from headrace.metrics.topic_count import TopicCount
from headrace.records import Headers


class Clock:
    now = 0

    def __call__(self) -> int:
        return self.now


def test_what_is_off_does_not_exist() -> None:
    metrics = StreamsMetrics("client").for_task("0_0")
    assert metrics.store_sensor("rocksdb", "s", "put") is None
    assert metrics.task_sensor("process") is None
    assert metrics.node_sensor("n", "process") is None
    assert metrics.add_sensor("mine", RecordingLevel.TRACE) is None


def test_a_store_sensor_has_kafkas_names() -> None:
    metrics = StreamsMetrics("client", level="debug").for_task("0_1")
    assert metrics.store_sensor("rocksdb", "counts", "put") is not None
    tags = (("thread-id", "client"), ("task-id", "0_1"), ("rocksdb-state-id", "counts"))
    assert {
        MetricName(f"put-{kind}", "stream-state-metrics", tags) for kind in ("rate", "latency-avg", "latency-max")
    } <= set(metrics())


def test_averages_forget_old_samples() -> None:
    clock = Clock()
    metrics = StreamsMetrics("client", level="DEBUG", clock=clock).for_task("0_0")
    sensor = metrics.task_sensor("process")
    assert sensor is not None
    sensor.record(10)
    clock.now = 30_000
    sensor.record(20)
    assert metrics.value("process-latency-avg") == 15
    assert metrics.value("process-latency-max") == 20
    assert metrics.value("process-total") == 2
    clock.now = 75_000
    assert metrics.value("process-latency-avg") == 20
    clock.now = 200_000
    assert math.isnan(metrics.value("process-latency-avg") or 0)
    assert metrics.value("process-total") == 2


def test_a_rate_counts_per_second() -> None:
    clock = Clock()
    metrics = StreamsMetrics("client", clock=clock)
    sensor = metrics.add_rate_total_sensor("shop", "till", "sale")
    assert sensor is not None
    for _ in range(60):
        sensor.record()
    assert metrics.value("sale-rate", "stream-shop-metrics", shop_id="till") == 2.0
    metrics.remove_sensor(sensor)
    assert metrics.value("sale-rate") is None


def test_drops_are_counted_by_reason() -> None:
    client = StreamsMetrics("client")
    first, second = client.for_task("0_0"), client.for_task("0_1")
    assert first.drop("null key") == 1
    assert first.drop("null key") == 2
    second.drop("expired")
    assert first.dropped_records == 2
    assert first.dropped_records_by_reason == {"null key": 2}
    assert client.value("dropped-records-total") == 3
    assert client.value("dropped-records-total", task_id="0_1") == 1


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ConfigError, match="LOUD"):
        StreamsMetrics("client", level="LOUD")


def test_a_records_size_includes_topic_headers_and_frame() -> None:
    count = TopicCount("in")
    count.add(b"key", None, Headers([("h", b"12"), ("i", None)]))
    assert (count.records, count.size) == (1, 3 + 2 + 20 + 4)
