"""Metrics with Kafka Streams' names, groups and tags: client, thread, task, node, store, cache, topic.

A sensor whose recording level is off does not exist: asking for it gives None, and nothing is timed.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.clock import now_ms
from headrace.errors import ConfigError
from headrace.metrics.stats import Count, Samples, Stat, Total

if TYPE_CHECKING:
    from headrace.config import StreamsConfig


class RecordingLevel(IntEnum):
    """How much is measured; each level holds the ones before it."""

    INFO = 0
    DEBUG = 1
    TRACE = 2


class MetricName(NamedTuple):
    name: str
    group: str
    tags: tuple[tuple[str, str], ...] = ()


class Sensor:
    """Takes values and feeds the statistics of its metrics."""

    __slots__ = ("_clock", "_stats", "metric_names", "name")

    def __init__(self, name: str, clock: Callable[[], int]) -> None:
        self.name = name
        self.metric_names: list[MetricName] = []
        self._clock = clock
        self._stats: list[Stat] = []

    def record(self, value: float = 1.0) -> None:
        """Take one value: for a latency its nanoseconds, for that of a thread its milliseconds."""
        now_ms = self._clock()
        for stat in self._stats:
            stat.record(value, now_ms)

    def timed(self, call: Callable[..., None], *arguments: Any) -> None:
        """Make the call and take the nanoseconds it took; one that fails is not recorded."""
        start_ns = time.perf_counter_ns()
        call(*arguments)
        self.record(time.perf_counter_ns() - start_ns)

    def add(self, stat: Stat) -> None:
        self._stats.append(stat)


class _Registry:
    """All metrics of one client, and the sensors that feed them."""

    def __init__(self, level: RecordingLevel, clock: Callable[[], int], samples: int, window_ms: int) -> None:
        self.level = level
        self.clock = clock
        self.samples = samples
        self.window_ms = window_ms
        self.sensors: dict[str, Sensor] = {}
        self.measures: dict[MetricName, Callable[[int], float]] = {}

    def remove(self, sensor: Sensor) -> None:
        self.sensors.pop(sensor.name, None)
        for name in sensor.metric_names:
            self.measures.pop(name, None)


class StreamsMetrics:
    """The metrics of a client, seen from one of its threads and tasks (``for_task``)."""

    def __init__(
        self,
        client_id: str = "headrace",
        *,
        level: str | RecordingLevel = RecordingLevel.INFO,
        clock: Callable[[], int] | None = None,
        samples: int = 2,
        window_ms: int = 30_000,
    ) -> None:
        self.client_id = client_id
        self.thread_id = client_id
        self.task_id: str | None = None
        self._registry = _Registry(_level(level), clock or now_ms, samples, window_ms)
        self._dropped: Counter[str] = Counter()
        self._dropped_sensor: Sensor | None = None

    @classmethod
    def of(cls, config: StreamsConfig, client_id: str, clock: Callable[[], int] | None = None) -> StreamsMetrics:
        """With the recording level and sampling of a configuration."""
        return cls(
            client_id,
            level=config["metrics.recording.level"],
            clock=clock,
            samples=config["metrics.num.samples"],
            window_ms=config["metrics.sample.window.ms"],
        )

    def for_task(self, task_id: str) -> StreamsMetrics:
        """The same metrics, as the task adds to them."""
        view = StreamsMetrics.__new__(StreamsMetrics)
        view.client_id = self.client_id
        view.thread_id = self.thread_id
        view.task_id = task_id
        view._registry = self._registry
        view._dropped = Counter()
        view._dropped_sensor = view._rate_total("dropped-records", "stream-task-metrics", view._tags())
        return view

    # Reading

    def __call__(self) -> Mapping[MetricName, float]:
        now_ms = self._registry.clock()
        return MappingProxyType({name: measure(now_ms) for name, measure in self._registry.measures.items()})

    def value(self, name: str, group: str | None = None, **tags: str) -> float | None:
        """The sum of the metrics of that name (and group, and tags with ``_`` for ``-``); None where there is none."""
        wanted = {(key.replace("_", "-"), tag) for key, tag in tags.items()}
        now_ms = self._registry.clock()
        found = [
            measure(now_ms)
            for metric, measure in self._registry.measures.items()
            if metric.name == name and group in (None, metric.group) and wanted <= set(metric.tags)
        ]
        return sum(found) if found else None

    @property
    def dropped_records(self) -> int:
        return self._dropped.total()

    @property
    def dropped_records_by_reason(self) -> Mapping[str, int]:
        return MappingProxyType(self._dropped)

    @property
    def level(self) -> RecordingLevel:
        return self._registry.level

    # The engine's own sensors

    def drop(self, reason: str) -> int:
        """Count a dropped record; returns how many there were for that reason, this one included."""
        self._dropped[reason] += 1
        if self._dropped_sensor is not None:
            self._dropped_sensor.record()
        return self._dropped[reason]

    def store_sensor(self, scope: str, store: str, operation: str) -> Sensor | None:
        """Latency and rate of one operation of a store; None unless the level is DEBUG."""
        if self.level < RecordingLevel.DEBUG:
            return None
        return self._latency(operation, "stream-state-metrics", self._tags(**{f"{scope}-state-id": store}), total=False)

    def task_sensor(self, operation: str) -> Sensor | None:
        """Latency, rate and total of ``process`` or ``punctuate`` of the task; None unless the level is DEBUG."""
        if self.level < RecordingLevel.DEBUG:
            return None
        return self._latency(operation, "stream-task-metrics", self._tags(), total=True)

    def thread_sensor(self, operation: str) -> Sensor:
        """Latency, rate and total of ``poll``, ``process``, ``punctuate`` or ``commit`` of the thread."""
        return self._latency(operation, "stream-thread-metrics", (("thread-id", self.thread_id),), total=True)

    def lateness_sensor(self) -> Sensor | None:
        """How far records lie behind stream time; None unless the level is DEBUG."""
        if self.level < RecordingLevel.DEBUG:
            return None
        return self._sampled("record-lateness", "stream-task-metrics", self._tags(), ("avg", "max"))

    def node_sensor(self, node: str, operation: str) -> Sensor | None:
        """Rate and total of what a node does; None unless the level is DEBUG."""
        if self.level < RecordingLevel.DEBUG:
            return None
        return self._rate_total(operation, "stream-processor-node-metrics", self._node_tags(node))

    def e2e_latency_sensor(self, node: str) -> Sensor | None:
        """Age of the records at a source or at a node without children; None unless the level is DEBUG.

        Kafka measures this at INFO too. Here it would cost more than the work of most nodes.
        """
        if self.level < RecordingLevel.DEBUG:
            return None
        tags = self._node_tags(node)
        return self._sampled("record-e2e-latency", "stream-processor-node-metrics", tags, ("avg", "min", "max"))

    def topic_gauge(self, node: str, topic: str, name: str, read: Callable[[], float]) -> None:
        """A count of records or bytes that a source or sink keeps itself."""
        metric = MetricName(name, "stream-topic-metrics", (*self._node_tags(node), ("topic", topic)))
        self._registry.measures[metric] = lambda now_ms: read()

    # What users may add

    def add_sensor(self, name: str, level: RecordingLevel = RecordingLevel.INFO) -> Sensor | None:
        """A sensor without metrics; None where its level is off."""
        return self._sensor(name) if level <= self.level else None

    def add_rate_total_sensor(
        self, scope: str, entity: str, operation: str, level: RecordingLevel = RecordingLevel.INFO, **tags: str
    ) -> Sensor | None:
        """Rate and total of an operation, in the group ``stream-<scope>-metrics``; None where its level is off."""
        if level > self.level:
            return None
        return self._rate_total(operation, f"stream-{scope}-metrics", self._user_tags(scope, entity, tags))

    def add_latency_rate_total_sensor(
        self, scope: str, entity: str, operation: str, level: RecordingLevel = RecordingLevel.INFO, **tags: str
    ) -> Sensor | None:
        """The same, with average and largest latency."""
        if level > self.level:
            return None
        return self._latency(operation, f"stream-{scope}-metrics", self._user_tags(scope, entity, tags), total=True)

    def remove_sensor(self, sensor: Sensor) -> None:
        self._registry.remove(sensor)

    # Making sensors

    def _tags(self, **more: str) -> tuple[tuple[str, str], ...]:
        own = [("thread-id", self.thread_id)]
        if self.task_id is not None:
            own.append(("task-id", self.task_id))
        return (*own, *more.items())

    def _node_tags(self, node: str) -> tuple[tuple[str, str], ...]:
        return self._tags(**{"processor-node-id": node})

    def _user_tags(self, scope: str, entity: str, tags: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        return self._tags(**{f"{scope}-id": entity, **tags})

    def _sensor(self, name: str) -> Sensor:
        return self._registry.sensors.setdefault(name, Sensor(name, self._registry.clock))

    def _metric(self, sensor: Sensor, name: MetricName, measure: Callable[[int], float]) -> None:
        sensor.metric_names.append(name)
        self._registry.measures[name] = measure

    def _rate_total(self, name: str, group: str, tags: tuple[tuple[str, str], ...]) -> Sensor:
        sensor, samples = self._with_samples(name, group, tags)
        if samples is not None:
            self._add_rate_total(sensor, samples, name, group, tags)
        return sensor

    def _latency(self, name: str, group: str, tags: tuple[tuple[str, str], ...], *, total: bool) -> Sensor:
        sensor, samples = self._with_samples(name, group, tags)
        if samples is not None:
            self._metric(sensor, MetricName(f"{name}-latency-avg", group, tags), samples.average)
            self._metric(sensor, MetricName(f"{name}-latency-max", group, tags), samples.maximum)
            if total:
                self._add_rate_total(sensor, samples, name, group, tags)
            else:
                self._metric(sensor, MetricName(f"{name}-rate", group, tags), samples.rate)
        return sensor

    def _sampled(self, name: str, group: str, tags: tuple[tuple[str, str], ...], kinds: Iterable[str]) -> Sensor:
        sensor, samples = self._with_samples(name, group, tags)
        if samples is not None:
            measures = {"avg": samples.average, "min": samples.minimum, "max": samples.maximum}
            for kind in kinds:
                self._metric(sensor, MetricName(f"{name}-{kind}", group, tags), measures[kind])
        return sensor

    def _add_rate_total(
        self, sensor: Sensor, samples: Samples, name: str, group: str, tags: tuple[tuple[str, str], ...]
    ) -> None:
        count = Count()
        sensor.add(count)
        self._metric(sensor, MetricName(f"{name}-rate", group, tags), samples.rate)
        self._metric(sensor, MetricName(f"{name}-total", group, tags), count.measure)

    def _with_samples(self, name: str, group: str, tags: tuple[tuple[str, str], ...]) -> tuple[Sensor, Samples | None]:
        """The sensor of that name; with fresh samples where it is new."""
        full_name = "|".join((group, name, *(f"{key}={tag}" for key, tag in tags)))
        known = self._registry.sensors.get(full_name)
        if known is not None:
            return known, None
        sensor = self._sensor(full_name)
        samples = Samples(self._registry.window_ms, self._registry.samples)
        sensor.add(samples)
        return sensor, samples


def _level(level: str | RecordingLevel) -> RecordingLevel:
    if isinstance(level, RecordingLevel):
        return level
    try:
        return RecordingLevel[level.upper()]
    except KeyError:
        message = f"metrics.recording.level cannot be {level!r}"
        raise ConfigError(message, hint="Use INFO, DEBUG or TRACE.") from None


__all__ = ["MetricName", "RecordingLevel", "Sensor", "StreamsMetrics", "Total"]
