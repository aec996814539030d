"""Hashes and partitions, against vectors of Kafka's own tests and of the conformance cases."""

from __future__ import annotations

import pytest

from headrace.partitioning import default_partition, murmur2, murmur3_128


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_kafkas(data: bytes, expected: int) -> None:
    assert murmur2(data) == expected


def test_murmur2_of_nothing_is_a_signed_32_bit_number() -> None:
    assert murmur2(b"") == 275646681


def test_a_negative_hash_is_masked_and_not_made_positive() -> None:
    assert default_partition(b"21", 1000) == (-973932308 & 0x7FFFFFFF) % 1000


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "00000000000000000000000000000000"),
        (b"hello", "cbd8a7b341bd9b025b1e906a48ae1d19"),
        (b"The quick brown fox jumps over the lazy dog", "e34bbc7bbc071b6c7a433ca9c49a9347"),
    ],
)
def test_murmur3_is_the_reference_with_seed_zero(data: bytes, expected: str) -> None:
    assert murmur3_128(data, seed=0).hex() == expected


def test_murmur3_is_seeded_as_in_foreign_key_joins() -> None:
    assert murmur3_128(b"x,9").hex() == "237023315ed55ac3dcafbf1169da9413"
