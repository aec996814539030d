"""Records: appended, partitioned, read back."""

from __future__ import annotations

import os
import pickle
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.broker import open_broker, rewriting, seal
from headrace.broker.embedded import EmbeddedBroker
from headrace.broker.port import NewRecord
from headrace.errors import (
    ArgumentError,
    BrokerError,
    CorruptLogError,
    OffsetOutOfRangeError,
    RecordTooLargeError,
)
from headrace.partitioning import default_partition
from headrace.records import NO_HEADERS, Headers
from tests.unit.broker.scene import BIG, entries, files, put, records, values


@pytest.fixture(autouse=True)
def _clicks(broker: EmbeddedBroker) -> None:
    broker.create_topic("clicks", partitions=4, config={"retention.ms": -1})


def test_reads_what_was_appended(broker: EmbeddedBroker) -> None:
    headers = Headers([("trace", b"1"), ("trace", None), ("ü", b"")])
    appended = broker.append(
        [
            NewRecord("clicks", b"a", b"1", 10, headers, 0),
            NewRecord("clicks", None, b"2", 0, partition=0),
            NewRecord("clicks", b"", None, 2**63 - 1, partition=0),
            NewRecord("clicks", b"a", b"", partition=1),
        ]
    )
    assert appended.ranges == {("clicks", 0): (0, 3), ("clicks", 1): (0, 1)}
    assert records(broker, "clicks", 0) == [
        ("clicks", 0, 0, 10, b"a", b"1", headers),
        ("clicks", 0, 1, 0, None, b"2", NO_HEADERS),
        ("clicks", 0, 2, 2**63 - 1, b"", None, NO_HEADERS),
    ]
    assert records(broker, "clicks", 1) == [("clicks", 1, 0, 1_000_000, b"a", b"", NO_HEADERS)]
    assert isinstance(records(broker, "clicks", 0)[0][6], Headers)


def test_partitions_by_key_as_kafka_does(broker: EmbeddedBroker) -> None:
    keys = [b"%d" % number for number in range(50)]
    broker.append([NewRecord("clicks", key, key) for key in keys])
    for partition in range(4):
        assert values(broker, "clicks", partition) == [key for key in keys if default_partition(key, 4) == partition]


def test_records_without_a_key_stay_together_and_then_move_on(broker: EmbeddedBroker) -> None:
    broker.append([NewRecord("clicks", None, b"x" * 1000) for _ in range(100)])
    counts = sorted(len(values(broker, "clicks", partition)) for partition in range(4))
    assert sum(counts) == 100
    assert counts[0] >= 15, counts


def test_offsets_go_on_across_appends(broker: EmbeddedBroker) -> None:
    for number in range(5):
        put(broker, "clicks", (b"k", b"%d" % number))
    assert entries(broker, "clicks") == [(number, b"k", b"%d" % number) for number in range(5)]
    assert broker.start_offsets([("clicks", 0), ("clicks", 1)]) == {("clicks", 0): 0, ("clicks", 1): 0}
    assert broker.end_offsets([("clicks", 0), ("clicks", 1)]) == {("clicks", 0): 5, ("clicks", 1): 0}


def test_an_empty_append_does_nothing(broker: EmbeddedBroker) -> None:
    assert broker.append([]).ranges == {}


@pytest.mark.parametrize(("start", "end"), [(0, 0), (0, 20_000), (4_095, 4_097), (9_999, 10_000), (20_000, 20_000)])
def test_reads_a_part_by_offset(broker: EmbeddedBroker, start: int, end: int) -> None:
    put(broker, "clicks", *[(b"k", b"%d" % number) for number in range(19_000)])
    put(broker, "clicks", *[(b"k", b"%d" % number) for number in range(19_000, 20_000)])
    found = [record for chunk in broker.read("clicks", 0, start, end) for record in chunk]
    assert [(record[2], record[5]) for record in found] == [(number, b"%d" % number) for number in range(start, end)]


@pytest.mark.parametrize("most", [1, 7, 4096, 100_000])
def test_lists_have_a_bounded_length(broker: EmbeddedBroker, most: int) -> None:
    for part in range(3):
        put(broker, "clicks", *[(b"k", b"%d" % number) for number in range(part * 2000, part * 2000 + 2000)])
    chunks = list(broker.read("clicks", 0, 0, max_records=most))
    assert [record[2] for chunk in chunks for record in chunk] == list(range(6000))
    assert max(map(len, chunks)) <= most


def test_lists_have_a_bounded_size(broker: EmbeddedBroker) -> None:
    for _ in range(30):
        put(broker, "clicks", *[(b"k", b"x" * 100_000)] * 3)
    sizes = [sum(len(record[5] or b"") for record in chunk) for chunk in broker.read("clicks", 0, 0)]
    assert sum(sizes) == 9_000_000
    assert max(sizes) <= 1_300_000


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (6, None, "clicks-0 does not hold offset 6"),
        (0, 6, "clicks-0 does not hold offset 6"),
        (-1, None, "clicks-0 does not hold offset -1"),
    ],
)
def test_refuses_offsets_that_are_not_there(broker: EmbeddedBroker, start: int, end: int | None, message: str) -> None:
    put(broker, "clicks", *[(b"k", b"v")] * 5)
    with pytest.raises(OffsetOutOfRangeError, match=message):
        broker.read("clicks", 0, start, end)


def test_a_reader_sees_the_end_as_it_was_when_it_began(broker: EmbeddedBroker) -> None:
    put(broker, "clicks", (b"k", b"1"))
    reader = broker.read("clicks", 0, 0)
    put(broker, "clicks", (b"k", b"2"))
    assert [len(chunk) for chunk in reader] == [1]


def test_finds_the_first_offset_at_a_time(broker: EmbeddedBroker) -> None:
    for time in (10, 30, 20, 40):
        put(broker, "clicks", (b"k", b"v"), timestamp=time)
    asked = {0: 0, 10: 0, 11: 1, 30: 1, 31: 3, 41: None}
    for time, offset in asked.items():
        assert broker.offsets_for_time({("clicks", 0): time}) == {("clicks", 0): offset}
    broker.delete_records({("clicks", 0): 2})
    assert broker.offsets_for_time({("clicks", 0): 0, ("clicks", 1): 0}) == {("clicks", 0): 2, ("clicks", 1): None}


def test_all_or_nothing_is_appended(broker: EmbeddedBroker) -> None:
    good = NewRecord("clicks", b"k", BIG, partition=0)
    with pytest.raises(ArgumentError, match="no partition 9"):
        broker.append([*[good] * 50, NewRecord("clicks", b"k", b"v", partition=9)])
    assert values(broker, "clicks") == []
    assert files(broker) == []


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (NewRecord("clicks", b"k", b"v", -1), "has the timestamp -1"),
        (NewRecord("clicks", b"k", b"v", 2**63), "has the timestamp"),
        (NewRecord("clicks", b"k", "text", partition=0), "must be bytes"),  # type: ignore[arg-type]
        (NewRecord("clicks", "k", b"v", partition=0), "must be bytes"),  # type: ignore[arg-type]
        (NewRecord("clicks", b"k", b"v", 0, Headers([("a", 1)])), "headers that cannot be written"),  # type: ignore[list-item]
        (NewRecord("clicks", b"k", b"v", 0, Headers([("\ud800", b"")])), "headers that cannot be written"),
    ],
)
def test_refuses_a_record_that_could_not_be_read_back(broker: EmbeddedBroker, record: NewRecord, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        broker.append([record])


def test_refuses_a_record_that_is_too_large(broker: EmbeddedBroker) -> None:
    broker.create_topic("small", config={"max.message.bytes": 10})
    put(broker, "small", (b"12345", b"12345"))
    message = r"a record of 11 bytes is too large for topic small\n  hint: max.message.bytes of the topic is 10"
    with pytest.raises(RecordTooLargeError, match=message):
        put(broker, "small", (b"12345", b"123456"))
    with pytest.raises(RecordTooLargeError):
        broker.append([NewRecord("small", None, b"", 0, Headers([("12345", b"123456")]))])


def test_a_huge_record_is_read_back_where_the_topic_allows_it(broker: EmbeddedBroker) -> None:
    broker.create_topic("huge", config={"max.message.bytes": 2**31 - 1})
    huge = os.urandom(10_000_000)
    headers = Headers([(f"h{number}", b"v") for number in range(10_000)])
    broker.append([NewRecord("huge", b"k", huge, 1, headers), NewRecord("huge", b"k", b"after")])
    assert [(record[5], record[6]) for record in records(broker, "huge")] == [(huge, headers), (b"after", NO_HEADERS)]


class TestSegments:
    def test_small_appends_make_no_file(self, broker: EmbeddedBroker) -> None:
        for _ in range(50):
            put(broker, "clicks", (b"k", b"v"))
        assert files(broker) == []

    def test_many_small_appends_become_one_segment(
        self, broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(rewriting, "ROLL_SEGMENTS", 10)
        for number in range(25):
            put(broker, "clicks", (b"k", b"%d" % number))
        assert (broker.describe_topic("clicks").partitions[0].segments or 99) <= 10
        assert files(broker) == []
        assert entries(broker, "clicks") == [(number, b"k", b"%d" % number) for number in range(25)]

    def test_a_megabyte_of_small_appends_becomes_a_file(self, broker: EmbeddedBroker) -> None:
        for _ in range(25):
            put(broker, "clicks", *[(b"k", BIG)] * 10)
        assert len(files(broker)) == 1
        assert values(broker, "clicks") == [BIG] * 250

    def test_a_file_is_an_arrow_stream(self, broker: EmbeddedBroker) -> None:
        put(broker, "clicks", *[(b"k", BIG)] * 500)
        (path,) = files(broker)
        with pa.OSFile(str(path)) as source:
            table = pa.ipc.open_stream(source).read_all()
        assert table.column("value").to_pylist() == [BIG] * 500

    def test_rolls_by_size(self, broker: EmbeddedBroker) -> None:
        broker.create_topic("short", config={"segment.bytes": 2_000_000})
        put(broker, "short", *[(b"k", BIG)] * 2000)
        assert len(files(broker)) == 5
        assert entries(broker, "short") == [(number, b"k", BIG) for number in range(2000)]

    def test_holds_little_in_memory_however_many_partitions(self, broker: EmbeddedBroker) -> None:
        broker.create_topic("wide", partitions=500)
        before = pa.total_allocated_bytes()
        open_files = len(os.listdir("/proc/self/fd"))
        with broker.stage("app", 1, 0, "0") as stage:
            for _ in range(30):
                for partition in range(500):
                    stage.append("wide", partition, 0, b"k", BIG)
            assert pa.total_allocated_bytes() - before < 70_000_000
            assert len(os.listdir("/proc/self/fd")) <= open_files + 2
            assert sum(segment.built.records for segment in stage.segments()) == 15_000


class TestCorruption:
    def damaged(self, broker: EmbeddedBroker) -> Path:
        put(broker, "clicks", *[(b"k", BIG)] * 500)
        return files(broker)[0]

    def test_names_the_file_and_the_offsets(self, broker: EmbeddedBroker) -> None:
        path = self.damaged(broker)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        message = rf"clicks-0 is corrupt at offsets 210 to 419: {path}\n  detail: the checksum"
        with pytest.raises(CorruptLogError, match=message):
            records(broker, "clicks")
        assert [str(problem) for problem in broker.problems("clicks")]

    def test_what_is_whole_can_be_read(self, broker: EmbeddedBroker) -> None:
        path = self.damaged(broker)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        assert len([record for chunk in broker.read("clicks", 0, 420) for record in chunk]) == 80

    @pytest.mark.parametrize("cut", [9, 100, 4096, 1_000_000])
    def test_a_truncated_file(self, broker: EmbeddedBroker, cut: int) -> None:
        path = self.damaged(broker)
        os.truncate(path, path.stat().st_size - cut)
        with pytest.raises(CorruptLogError, match=r"bytes \d+ to \d+ were written, \d+ of \d+ are there"):
            records(broker, "clicks")

    def test_a_missing_file(self, broker: EmbeddedBroker) -> None:
        path = self.damaged(broker)
        path.unlink()
        with pytest.raises(CorruptLogError, match=rf"clicks-0 is corrupt at offsets 0 to 499: {path} is missing"):
            records(broker, "clicks")
        assert len(broker.problems("clicks")) == 1

    def test_a_link_in_place_of_a_file_is_not_followed(self, broker: EmbeddedBroker, tmp_path: Path) -> None:
        path = self.damaged(broker)
        moved = path.rename(tmp_path / "elsewhere")
        path.symlink_to(moved)
        with pytest.raises(BrokerError, match="disk failed"):
            records(broker, "clicks")

    def test_a_blob_in_the_catalog(self, broker: EmbeddedBroker) -> None:
        put(broker, "clicks", (b"k", b"v"))
        with broker._catalog.write() as connection:
            connection.execute("UPDATE segments SET payload = zeroblob(length(payload))")
        with pytest.raises(CorruptLogError, match=r"clicks-0 is corrupt at offsets 0 to 0: .*catalog.db"):
            records(broker, "clicks")

    def test_a_file_name_that_is_none_of_ours_never_becomes_a_path(self, broker: EmbeddedBroker) -> None:
        self.damaged(broker)
        with broker._catalog.write() as connection:
            connection.execute("UPDATE segments SET file = '../../etc/passwd'")
        with pytest.raises(CorruptLogError, match="is no segment file of this broker"):
            records(broker, "clicks")

    def test_is_found_again_after_the_first_read(self, broker: EmbeddedBroker) -> None:
        path = self.damaged(broker)
        assert len(records(broker, "clicks")) == 500
        assert broker.problems("clicks") == []
        data = bytearray(path.read_bytes())
        data[5000] ^= 1
        path.write_bytes(data)
        assert len(broker.problems("clicks")) == 1


def test_another_process_opens_the_same_broker_by_its_configuration(broker: EmbeddedBroker) -> None:
    put(broker, "clicks", (b"k", b"v"))
    with closing(open_broker(pickle.loads(pickle.dumps(broker.config)))) as other:
        assert [*other.read("clicks", 0, 0)] == [records(broker, "clicks")]
        assert other.address == broker.address == f"embedded:{broker.directory}"


def test_threads_have_connections_of_their_own(broker: EmbeddedBroker) -> None:
    def work(number: int) -> None:
        for _ in range(20):
            put(broker, "clicks", (b"k", b"%d" % number))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(values(broker, "clicks")) == {b"%d" % number: 20 for number in range(4)}
    assert [record[2] for record in records(broker, "clicks")] == list(range(80))


def test_ctrl_c_while_sqlite_calls_us_is_ctrl_c_and_undoes_the_transaction(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(row: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(seal, "_hash", interrupt)
        put(broker, "clicks", (b"k", b"lost"))
    put(broker, "clicks", (b"k", b"kept"))
    assert [value for number in range(4) for value in values(broker, "clicks", number)] == [b"kept"]
    EmbeddedBroker(broker.directory, verify=True).close()
