"""Compaction: of each key only its last record stays, at its old offset; deleted keys go after a while.

As in Kafka's log cleaner. A pass reads the *dirty* part of a partition, what came after the last pass, and notes the
last offset of each key in it; then it rewrites everything up to there without the records that have a later one. A
tombstone (a record without a value) stays for delete.retention.ms after the first pass that meets it, so that readers
can see it. What is younger than min.compaction.lag.ms is left alone. The number of keys noted is bounded; a pass that
has noted them all stops there and the next one goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headrace.broker import log
from headrace.broker.arrays import int64_array
from headrace.broker.catalog import Catalog
from headrace.broker.disk import Disk
from headrace.broker.log import LogReader, Partition
from headrace.broker.rewriting import Rewriter, swap
from headrace.broker.segments import DENSE, Batch, Segment, offsets_in
from headrace.broker.topic_config import TopicConfig

MAX_KEYS = 2_000_000


class _Cleanable(NamedTuple):
    segments: list[Segment]
    end: int


def is_due(segments: Sequence[Segment], partition: Partition, config: TopicConfig, now_ms: int) -> bool:
    """Whether enough is dirty: its share of the bytes, or its age."""
    cleanable = _cleanable(segments, config, now_ms)
    dirty = [segment for segment in cleanable.segments if segment.next_offset > partition.cleaned_offset]
    if not dirty:
        return False
    share = sum(segment.size for segment in dirty) / max(1, sum(segment.size for segment in cleanable.segments))
    too_long = now_ms - min(segment.max_timestamp for segment in dirty) > config.max_compaction_lag_ms
    return share > config.min_cleanable_dirty_ratio or too_long or config.min_cleanable_dirty_ratio == 0


def compact(
    catalog: Catalog,
    disk: Disk,
    reader: LogReader,
    partition: Partition,
    config: TopicConfig,
    now_ms: int,
    *,
    force: bool = False,
    max_keys: int = MAX_KEYS,
) -> bool:
    """Do one pass where it is due; whether it did."""
    with catalog.read() as connection:
        segments = log.segments_of(connection, partition)
    if not force and not is_due(segments, partition, config, now_ms):
        return False
    cleanable = _cleanable(segments, config, now_ms)
    try:
        return _pass(catalog, disk, reader, partition, config, now_ms, cleanable.segments, max_keys)
    except FileNotFoundError:  # somebody else rewrote or removed a segment; they did our work
        return False


def _pass(
    catalog: Catalog,
    disk: Disk,
    reader: LogReader,
    partition: Partition,
    config: TopicConfig,
    now_ms: int,
    segments: list[Segment],
    max_keys: int,
) -> bool:
    latest, covered = _latest_offsets(reader, partition, segments, max_keys)
    if not covered:
        return False
    cleaner = _Cleaner(latest, now_ms, now_ms + config.delete_retention_ms)
    rewriter = Rewriter(disk, partition, sparse=True, segment_bytes=config.segment_bytes, kind="compacted")
    try:
        for batch, segment, chunk in reader.of_segments(partition, covered):
            cleaner.copy(batch, offsets_in(batch, chunk.first, segment.base_offset), rewriter)
        new = rewriter.finish()
    except BaseException:
        rewriter.abort()
        raise
    return swap(catalog, disk, partition, covered, new, cleaned_to=covered[-1].next_offset)


def _cleanable(segments: Sequence[Segment], config: TopicConfig, now_ms: int) -> _Cleanable:
    """What is old enough: all before the first segment that has a record younger than min.compaction.lag.ms."""
    old: list[Segment] = []
    for segment in segments:
        if config.min_compaction_lag_ms > 0 and segment.max_timestamp > now_ms - config.min_compaction_lag_ms:
            break
        old.append(segment)
    return _Cleanable(old, old[-1].next_offset if old else 0)


def _latest_offsets(
    reader: LogReader, partition: Partition, segments: list[Segment], max_keys: int
) -> tuple[dict[bytes, int], list[Segment]]:
    """The last offset of each key in the dirty segments, and the segments up to the last one that was noted."""
    latest: dict[bytes, int] = {}
    covered: list[Segment] = []
    for segment in segments:
        if segment.next_offset > partition.cleaned_offset:
            if latest and len(latest) + segment.records > max_keys:
                break
            for batch, _, chunk in reader.of_segments(partition, [segment]):
                latest.update(
                    zip(
                        batch.column("key").to_pylist(),
                        offsets_in(batch, chunk.first, segment.base_offset),
                        strict=True,
                    )
                )
        covered.append(segment)
    return latest, covered


class _Cleaner:
    def __init__(self, latest: dict[bytes, int], now_ms: int, horizon_ms: int) -> None:
        self._latest = latest
        self._now_ms = now_ms
        self._horizon_ms = horizon_ms

    def copy(self, batch: Batch, offsets: Sequence[int], rewriter: Rewriter) -> None:
        """Hand on the records that stay, with the time from which their tombstones may go."""
        keys = batch.column("key").to_pylist()
        horizons = self._horizons(batch)
        latest, now = self._latest, self._now_ms
        kept = [
            index
            for index, (key, offset) in enumerate(zip(keys, offsets, strict=True))
            if key is not None
            and latest.get(key, offset) <= offset
            and (horizons[index] is None or horizons[index] > now)  # type: ignore[operator]
        ]
        if not kept:
            return
        stays = [offsets[index] for index in kept]
        chosen = [horizons[index] for index in kept]
        rewriter.add(batch.take(int64_array(kept)), stays[0], stays[-1] + 1, int64_array(chosen), stays)

    def _horizons(self, batch: Batch) -> list[int | None]:
        """When each tombstone may go: as an earlier pass noted it, else from this pass on; None for other records."""
        values = batch.column("value")
        if values.null_count == 0:
            return [None] * batch.num_rows
        noted = batch.column("delete_horizon").to_pylist() if batch.num_columns > len(DENSE) else [None] * len(values)
        return [
            None if value is not None else (self._horizon_ms if horizon is None else horizon)
            for value, horizon in zip(values.to_pylist(), noted, strict=True)
        ]
