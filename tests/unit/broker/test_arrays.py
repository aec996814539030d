"""Arrays made by hand are what pyarrow makes; and pandas stays where it is."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

from headrace.broker.arrays import binary_array, int64_array

BYTES = [b"", b"one", None, b"\x00" * 300]
NUMBERS = [0, -1, None, 2**62]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 9, 64, 511, 512, 513, 2000])
@pytest.mark.parametrize("is_whole", [True, False])
def test_equal_those_of_pyarrow(count: int, is_whole: bool) -> None:
    blobs, numbers = (BYTES * 500)[:count], (NUMBERS * 500)[:count]
    if is_whole:
        blobs, numbers = [each or b"" for each in blobs], [each or 0 for each in numbers]
    for made, given, kind in (
        (binary_array(blobs), blobs, pa.binary()),
        (int64_array(numbers), numbers, pa.int64()),
    ):
        made.validate(full=True)
        assert made.equals(pa.array(given, kind))
        assert made.null_count == given.count(None)


def test_a_small_append_needs_no_pandas(tmp_path: object) -> None:
    program = (
        "import sys; from headrace.broker import open_broker; from headrace.broker.port import NewRecord\n"
        f"broker = open_broker('embedded:{tmp_path}'); broker.create_topic('t')\n"
        "broker.append([NewRecord('t', b'k', None), NewRecord('t', None, b'v')])\n"
        "print([record[4:6] for records in broker.read('t', 0, 0) for record in records], 'pandas' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert ran.stdout == "[(b'k', None), (None, b'v')] False\n", ran.stderr
