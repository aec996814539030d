"""Payloads between tasks: what goes in comes out, in chunks of bounded size."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.batch import payloads
from headrace.errors import InternalError
from headrace.records import NO_HEADERS, Headers

_BYTES = st.none() | st.binary(max_size=20)
_HEADERS = st.lists(st.tuples(st.text(max_size=5), _BYTES), max_size=2).map(Headers)
_RECORDS = st.lists(st.tuples(st.integers(0, 2**63 - 1), _BYTES, _BYTES, st.just(NO_HEADERS) | _HEADERS), max_size=30)


@given(_RECORDS)
def test_a_payload_gives_back_its_records(records: Any) -> None:
    found = payloads.decode(payloads.encode(records))
    assert found == records
    assert all(type(headers) is Headers for *_, headers in found)


@given(_RECORDS, st.integers(1, 200), st.integers(1, 8))
def test_chunks_are_bounded_and_give_back_the_records_in_order(records: Any, size: int, count: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payloads, "CHUNK_BYTES", size)
        patch.setattr(payloads, "CHUNK_RECORDS", count)
        chunks = list(payloads.encode_chunks(records))
    decoded = [payloads.decode(chunk) for chunk in chunks]
    assert [record for chunk in decoded for record in chunk] == records
    assert all(len(chunk) <= size or len(found) == 1 for chunk, found in zip(chunks, decoded, strict=True))
    assert all(0 < len(found) <= count for found in decoded)


def test_records_without_headers_carry_no_header_column() -> None:
    bare = payloads.encode([(1, b"k", b"v", NO_HEADERS)] * 100)
    dressed = payloads.encode([(1, b"k", b"v", Headers([("h", b"1")]))] + [(1, b"k", b"v", NO_HEADERS)] * 99)
    assert len(dressed) - len(bare) >= 99


@pytest.mark.parametrize("data", [b"", b"\x01", payloads.encode([(1, b"k", b"v", NO_HEADERS)])[:-2]])
def test_refuses_bytes_that_are_no_payload(data: bytes) -> None:
    with pytest.raises(InternalError, match="cannot be read"):
        payloads.decode(data)


def test_refuses_columns_of_different_lengths() -> None:
    with pytest.raises(InternalError, match="cannot be read"):
        payloads.decode(msgspec.msgpack.encode(([1, 2], [b"k"], [b"v"], None)))
