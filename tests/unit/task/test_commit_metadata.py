"""The text beside a committed offset."""

from __future__ import annotations

import base64

from headrace.task.commit_metadata import decode, encode


def test_without_numbers_it_is_version_and_time() -> None:
    assert base64.b64decode(encode(258, {})) == b"\x02" + b"\0" * 6 + b"\x01\x02"
    assert decode(encode(258, {})) == (258, {})


def test_keeps_numbers() -> None:
    assert decode(encode(-1, {"a": 5, "é": -9})) == (-1, {"a": 5, "é": -9})


def test_reads_the_older_version() -> None:
    assert decode(base64.b64encode(b"\x01" + (77).to_bytes(8, "big")).decode()) == (77, {})


def test_foreign_text_means_nothing_known() -> None:
    assert decode("") == (-1, {})
    assert decode("not ours!") == (-1, {})
