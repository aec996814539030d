"""Serdes made of two functions."""

from __future__ import annotations

import json

import pytest

from headrace import serde
from headrace.errors import SerializationError, WrongTypeError


def test_two_functions_make_a_serde_that_keeps_none() -> None:
    codec = serde.of(lambda value: json.dumps(value).encode(), json.loads)

    assert codec.serialize("t", {"a": 1}) == b'{"a": 1}'
    assert codec.deserialize("t", b'{"a": 1}') == {"a": 1}
    assert codec.serialize("t", None) is None
    assert codec.deserialize("t", None) is None


def test_what_the_functions_raise_becomes_the_cause() -> None:
    codec = serde.of(lambda value: value.missing, json.loads)

    with pytest.raises(SerializationError, match="dumps raised AttributeError") as raised:
        codec.serialize("t", 1)
    assert isinstance(raised.value.__cause__, AttributeError)
    with pytest.raises(SerializationError, match="loads raised JSONDecodeError"):
        codec.deserialize("t", b"{")


def test_a_serialization_error_of_the_functions_passes_unchanged() -> None:
    def refuse(value: object) -> bytes:
        raise SerializationError("cannot serialize")

    with pytest.raises(SerializationError, match=r"^cannot serialize$"):
        serde.of(refuse, bytes).serialize("t", b"1")


def test_dumps_that_forgets_to_encode_is_told_so() -> None:
    with pytest.raises(WrongTypeError, match=r"expected bytes from dumps, found str") as raised:
        serde.of(json.dumps, json.loads).serialize("t", 1)  # type: ignore[arg-type]

    assert "dumps" in str(raised.value.hint)
