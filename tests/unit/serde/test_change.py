"""Changes of tables on their way through a repartition topic."""

from __future__ import annotations

import pytest

from headrace import serde
from headrace.config import StreamsConfig
from headrace.errors import SerializationError, WrongTypeError
from headrace.records import Change
from headrace.serde.change import ChangeSerde

CODEC = ChangeSerde(serde.string())


@pytest.mark.parametrize(
    ("change", "data"),
    [
        (Change(None, "old"), b"old\x00"),
        (Change("new", None), b"new\x01"),
        (Change("new", "old"), b"\x06newold\x02"),
        (Change("", ""), b"\x00\x02"),
        (Change("n" * 64, "o"), b"\x80\x01" + b"n" * 64 + b"o\x02"),
    ],
)
def test_writes_and_reads_kafkas_bytes(change: Change, data: bytes) -> None:
    assert CODEC.serialize("t", change) == data
    assert CODEC.deserialize("t", data) == change


@pytest.mark.parametrize(
    ("data", "change"),
    [
        (b"old\x01\x03", Change(None, "old", is_latest=True)),
        (b"new\x00\x04", Change("new", None, is_latest=False)),
        (b"\x06newold\x00\x05", Change("new", "old", is_latest=False)),
    ],
)
def test_reads_the_forms_that_say_whether_a_change_is_the_latest(data: bytes, change: Change) -> None:
    assert CODEC.deserialize("t", data) == change


@pytest.mark.parametrize("data", [b"", b"x\x06", b"x\x02\x03", b"\x03", b"\x7fab\x02", b"\xff\xff\xff\xff\xff\x02"])
def test_broken_bytes_are_no_change(data: bytes) -> None:
    with pytest.raises(SerializationError, match="are no change"):
        CODEC.deserialize("t", data)


def test_a_change_without_any_value_is_an_error() -> None:
    with pytest.raises(SerializationError, match="found neither"):
        CODEC.serialize("t", Change(None, None))


def test_only_changes_are_written() -> None:
    with pytest.raises(WrongTypeError, match="expected Change, found str"):
        CODEC.serialize("t", "new")  # type: ignore[arg-type]


def test_none_stays_none() -> None:
    assert CODEC.serialize("t", None) is None
    assert CODEC.deserialize("t", None) is None


def test_the_inner_serde_is_the_default_value_serde() -> None:
    config = StreamsConfig({"default.value.serde": "long"})

    assert ChangeSerde().with_defaults(config) == ChangeSerde(serde.long())


def test_while_upgrading_from_an_old_version_both_values_do_not_travel_together() -> None:
    old = CODEC.with_defaults(StreamsConfig({"upgrade.from": "3.4"}))
    new = CODEC.with_defaults(StreamsConfig({"upgrade.from": "3.5"}))

    with pytest.raises(SerializationError, match=r"upgrade\.from"):
        old.serialize("t", Change("new", "old"))
    assert old.serialize("t", Change("new", None)) == b"new\x01"
    assert new.serialize("t", Change("new", "old")) == b"\x06newold\x02"
