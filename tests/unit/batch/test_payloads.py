"""Payloads between tasks: what goes in comes out, in chunks of bounded size."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.batch import payloads
from headrace.batch.payloads import Payload
from headrace.errors import InternalError
from headrace.records import NO_HEADERS, Headers

_BYTES = st.none() | st.binary(max_size=20)
_HEADERS = st.lists(st.tuples(st.text(max_size=5), _BYTES), max_size=2).map(Headers)
_RECORDS = st.lists(st.tuples(st.integers(0, 2**63 - 1), _BYTES, _BYTES, st.just(NO_HEADERS) | _HEADERS), max_size=30)


def _chunks(records: Iterable[Any]) -> list[bytes]:
    chunks: list[bytes] = []
    payload = Payload(chunks.append)
    for record in records:
        payload.add(*record)
    payload.seal()
    return chunks


def _records(*chunks: bytes) -> list[Any]:
    return [row[3:] for columns in payloads.columns_in(chunks, "t", 0, 0) for row in columns.rows()]


@given(_RECORDS, st.integers(1, 200), st.integers(1, 8))
def test_chunks_are_bounded_and_give_back_the_records_in_order(records: Any, size: int, count: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payloads, "CHUNK_BYTES", size)
        patch.setattr(payloads, "CHUNK_RECORDS", count)
        patch.setattr(payloads, "_FIRST_RECORDS", count)
        chunks = _chunks(records)
    assert _records(*chunks) == records
    assert all(type(headers) is Headers for *_, headers in _records(*chunks))
    decoded = [_records(chunk) for chunk in chunks]
    assert [record for chunk in decoded for record in chunk] == records
    assert all(len(chunk) <= size or len(found) == 1 for chunk, found in zip(chunks, decoded, strict=True))
    assert all(0 < len(found) <= count for found in decoded)


def test_records_without_headers_carry_no_header_column() -> None:
    (bare,) = _chunks([(1, b"k", b"v", NO_HEADERS)] * 50)
    (dressed,) = _chunks([(1, b"k", b"v", Headers([("h", b"1")]))] + [(1, b"k", b"v", NO_HEADERS)] * 49)
    assert len(dressed) - len(bare) >= 49


@pytest.mark.parametrize("data", [b"", b"\x01", _chunks([(1, b"k", b"v", NO_HEADERS)])[0][:-2]])
def test_refuses_bytes_that_are_no_payload(data: bytes) -> None:
    with pytest.raises(InternalError, match="cannot be read"):
        _records(data)


@pytest.mark.parametrize(
    "chunk",
    [
        ("plain", [1, 2], [b"k"], [b"v"], None),
        ("coded", bytes(8), bytes(8), [b"k"], None),
        ("coded", bytes(16), bytes(8), [b"k"], [b"v"]),
        ("coded", bytes(16), b"\1\0\0\0" * 2, [b"k"], None),
        ("coded", bytes(16), b"\xff" * 8, [b"k"], None),
        ("coded", b"", b"", [b"k"], None),
    ],
)
def test_refuses_columns_that_do_not_fit(chunk: Any) -> None:
    with pytest.raises(InternalError, match="cannot be read"):
        _records(msgspec.msgpack.encode(chunk))
