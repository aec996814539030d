"""Writing into the columns of a host equals sending record by record: the same records, counts, drops and errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import StreamsBuilder, handlers, serdes
from headrace.batch import coded_records, payloads
from headrace.batch.coded_records import CodedRecords
from headrace.batch.payloads import Payload
from headrace.config import StreamsConfig
from headrace.errors import StreamsError
from headrace.metrics.topic_count import TopicCount
from headrace.partitioning import default_partition
from headrace.records import NO_HEADERS, Headers
from headrace.task.stream_task import StreamTask

PARTITIONS = 3
_TEXT = st.sampled_from(["a", "b", "c", "d", "é", "\ud800", "x\udfff"])
_PAIRS = st.lists(st.tuples(_TEXT | st.none() | st.integers(0, 3), _TEXT | st.none() | st.integers(0, 3)), max_size=30)


class _Sending:
    """Takes records one by one."""

    def __init__(self) -> None:
        self._payloads: dict[int, Payload] = {}
        self._chunks: dict[int, list[bytes]] = {}

    def send(self, topic: str, partition: Any, timestamp: Any, key: Any, value: Any, headers: Headers) -> None:
        if key is None:
            raise ValueError("no key")
        self.flush()
        self._payload(default_partition(key, PARTITIONS)).add(timestamp, key, value, headers)

    def partitions_for(self, topic: str) -> int:
        return PARTITIONS

    def flush(self) -> None: ...

    def written(self) -> dict[int, list[Any]]:
        self.flush()
        for payload in self._payloads.values():
            payload.seal()
        chunks = {number: found for number, found in self._chunks.items() if found}
        return {
            number: [row for columns in payloads.columns_in(found, "out", number, 0) for row in columns.rows()]
            for number, found in chunks.items()
        }

    def _payload(self, partition: int) -> Payload:
        if partition not in self._payloads:
            self._payloads[partition] = Payload(self._chunks.setdefault(partition, []).append)
        return self._payloads[partition]


class _TakingColumns(_Sending):
    """Offers columns as well."""

    coded: CodedRecords | None = None

    def columns_for(self, topic: str, count: TopicCount) -> CodedRecords:
        self.coded = CodedRecords(PARTITIONS, self._payload, count)
        return self.coded

    def flush(self) -> None:
        if self.coded is not None:
            self.coded.seal()


class _Handler:
    """Goes on without what cannot be written."""

    def handle(self, context: Any, record: Any, error: BaseException) -> Any:
        return handlers.resume()

    def handle_serialization_error(self, context: Any, record: Any, error: BaseException, origin: Any) -> Any:
        return handlers.resume()


def _run(port: _Sending, pairs: list[tuple[Any, Any]], headers: list[Headers], value_serde: Any) -> Any:
    builder = StreamsBuilder()
    pairs_of = iter(pairs)
    builder.stream("in").map(lambda key, value: next(pairs_of)).to("out", value_serde=value_serde)
    topology = builder.build()
    config = StreamsConfig({"application.id": "app", "production.exception.handler": _Handler()})
    planned = topology.configured(config)
    task = StreamTask(planned.task_plan(), config, port, partitions=[("in", 0)])
    task.initialize()
    task.start()
    task.add_records(("in", 0), [("in", 0, n, n, b"k", b"v", headers[n % len(headers)]) for n in range(len(pairs))])
    error = None
    try:
        task.process_all(0)
    except StreamsError as raised:
        error = str(raised)
    port.flush()
    produced = {name: number for name, number in task.context.metrics().items() if "produced" in name.name}
    return port.written(), produced, dict(task.context.metrics.dropped_records_by_reason), error


@pytest.mark.parametrize("value_serde", [serdes.string(), serdes.long()], ids=["text", "numbers"])
@settings(max_examples=150, deadline=None)
@given(
    pairs=_PAIRS,
    headers=st.lists(st.sampled_from([NO_HEADERS, NO_HEADERS, Headers([("h", b"1")])]), min_size=1, max_size=3),
    limit=st.integers(1, 5),
    first=st.integers(1, 9),
    few=st.integers(1, 5),
    keys=st.integers(1, 5),
    size=st.integers(1, 200),
)
def test_columns_get_what_single_sends_get(
    value_serde: Any, pairs: Any, headers: list[Headers], limit: int, first: int, few: int, keys: int, size: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payloads, "_FIRST_RECORDS", limit)
        patch.setattr(payloads, "CHUNK_RECORDS", limit)
        patch.setattr(coded_records, "_FIRST_RECORDS", first)
        patch.setattr(coded_records, "_MAX_RECORDS", first)
        patch.setattr(coded_records, "_FEW_RECORDS", few)
        patch.setattr(coded_records, "_MAX_KEYS", keys)
        patch.setattr(payloads, "CHUNK_BYTES", size)
        taking = _run(_TakingColumns(), pairs, headers, value_serde)
        assert taking == _run(_Sending(), pairs, headers, value_serde)
