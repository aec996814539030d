"""The metrics of an application as a whole, from the reports of its batches; with Kafka's names where there are any."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from headrace.clock import now_ms
from headrace.metrics import MetricName, StreamsMetrics
from headrace.metrics.stats import Samples

if TYPE_CHECKING:
    from headrace.batch.reports import BatchReport
    from headrace.config import StreamsConfig

_CLIENT, _THREAD, _TASK = "stream-metrics", "stream-thread-metrics", "stream-task-metrics"
_CONSUMER, _PRODUCER = "consumer-fetch-manager-metrics", "producer-metrics"


class ClientMetrics:
    """Counts what batches report. Several threads may ask."""

    def __init__(self, config: StreamsConfig, client_id: str) -> None:
        self._metrics = StreamsMetrics.of(config, client_id)
        self._commits = self._metrics.thread_sensor("commit")
        self._lock = threading.Lock()
        self._totals: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._samples = {name: self._sampled(config) for name in ("read", "written", "dropped")}
        self._last: BatchReport | None = None

    def take(self, report: BatchReport) -> None:
        values = {"read": report.records, "written": report.written, "dropped": sum(report.dropped.values())}
        with self._lock:
            # Kafka measures stores and tasks in nanoseconds, but the commits of a thread in milliseconds.
            self._commits.record(report.duration_ms)
            self._totals.update(values)
            self._dropped.update(report.dropped)
            self._last = report
            for name, value in values.items():
                self._samples[name].record(value, now_ms())

    def failed(self) -> None:
        with self._lock:
            self._totals["failed"] += 1

    def values(self, *, threads: int, lags: Mapping[tuple[str, int], int]) -> Mapping[MetricName, float]:
        """Every metric and its present value; the caller knows how many threads there are and what is still to read."""
        with self._lock:
            found = {
                **self._metrics(),
                **{self._name(name, group): value for (name, group), value in self._own(threads).items()},
                **{self._name("dropped-records-total", _TASK, reason=reason): n for reason, n in self._dropped.items()},
            }
        for (topic, partition), lag in lags.items():
            found[self._name("records-lag", _CONSUMER, topic=topic, partition=str(partition))] = lag
        found[self._name("records-lag-max", _CONSUMER)] = max(lags.values(), default=0)
        return MappingProxyType(found)

    def _own(self, threads: int) -> dict[tuple[str, str], float]:
        last, totals = self._last, self._totals
        return {
            ("alive-stream-threads", _CLIENT): threads,
            ("failed-stream-threads", _CLIENT): totals["failed"],
            ("last-batch-id", _CLIENT): -1 if last is None else last.batch_id,
            ("last-batch-ms", _CLIENT): 0 if last is None else last.duration_ms,
            ("process-total", _THREAD): totals["read"],
            ("process-rate", _THREAD): self._rate("read"),
            ("dropped-records-total", _TASK): totals["dropped"],
            ("dropped-records-rate", _TASK): self._rate("dropped"),
            ("records-consumed-total", _CONSUMER): totals["read"],
            ("records-consumed-rate", _CONSUMER): self._rate("read"),
            ("record-send-total", _PRODUCER): totals["written"],
            ("record-send-rate", _PRODUCER): self._rate("written"),
        }

    def _rate(self, name: str) -> float:
        """Records per second: those of a batch on average, times batches per second."""
        now, samples = now_ms(), self._samples[name]
        batches = samples.rate(now)
        return samples.average(now) * batches if batches else 0.0

    def _name(self, name: str, group: str, **tags: str) -> MetricName:
        return MetricName(name, group, (("client-id", self._metrics.client_id), *tags.items()))

    @staticmethod
    def _sampled(config: StreamsConfig) -> Samples:
        return Samples(config["metrics.sample.window.ms"], config["metrics.num.samples"])
