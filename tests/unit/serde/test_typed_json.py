"""JSON that is read into a type."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest
from pyspark import cloudpickle

from headrace import StreamsBuilder, TopologyTestDriver, serdes
from headrace.errors import ArgumentError, SerializationError, StreamsError, WrongTypeError
from headrace.spark.shipping import packed, ship_by_value

NOON = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)


@dataclass
class Line:
    item: str
    price: float = 0.0


@dataclass
class Purchase:
    lines: list[Line]
    at: datetime | None = None
    tags: dict[str, int] = field(default_factory=dict)


class Click(msgspec.Struct):
    page: str
    lines: list[Line] = []


class PageView(TypedDict):
    page: str


class Visit(PageView, total=False):
    ms: int


class Account(pydantic.BaseModel):
    name: str
    limits: list[int] = []


@pytest.mark.parametrize(
    ("kind", "value", "data"),
    [
        (
            Purchase,
            Purchase([Line("tea", 4.5)], NOON),
            b'{"lines":[{"item":"tea","price":4.5}],"at":"2024-01-01T12:00:00Z","tags":{}}',
        ),
        (Click, Click("home"), b'{"page":"home","lines":[]}'),
        (Visit, {"page": "home"}, b'{"page":"home"}'),
        (Account, Account(name="al"), b'{"name":"al","limits":[]}'),
        (list[Line], [Line("tea", 1.0)], b'[{"item":"tea","price":1.0}]'),
        (dict[str, int], {"a": 1}, b'{"a":1}'),
    ],
    ids=["dataclass", "struct", "TypedDict", "pydantic", "list", "dict"],
)
def test_values_come_back_as_their_type(kind: Any, value: Any, data: bytes) -> None:
    serde = serdes.json(kind)
    assert serde.serialize("topic", value) == data
    assert serde.deserialize("topic", data) == value
    assert serde.serialize("topic", None) is None
    assert serde.deserialize("topic", None) is None


@pytest.mark.parametrize(
    ("kind", "data", "path"),
    [
        (Purchase, b'{"lines":[{"item":"tea"},{"item":5}]}', "Expected `str`, got `int` at `$.lines[1].item`"),
        (Purchase, b"{}", "missing required field `lines`"),
        (Click, b'{"page":"home","lines":[{}]}', "missing required field `item` at `$.lines[0]`"),
        (Visit, b'{"page":"home","ms":"x"}', "at `$.ms`"),
        (Account, b"{}", "Field required at `$.name`"),
        (Account, b'{"name":"al","limits":[1,"x"]}', "at `$.limits[1]`"),
        (Purchase, b"not json", "JSON is malformed"),
    ],
)
def test_what_does_not_fit_is_an_error_with_the_path_of_the_field(kind: Any, data: bytes, path: str) -> None:
    with pytest.raises(SerializationError) as caught:
        serdes.json(kind).deserialize("topic", data)
    assert caught.value.message.startswith(f"json({kind.__name__}) cannot read the record: ")
    assert path in caught.value.message


def test_the_error_of_a_task_names_the_record_too() -> None:
    builder = StreamsBuilder()
    builder.stream("in", value_serde=serdes.json(Purchase)).to("out")
    with TopologyTestDriver(builder.build()) as driver, pytest.raises(StreamsError) as caught:
        driver.create_input_topic("in", value_serde=serdes.bytes()).pipe_input("a", b'{"lines":5}')
    assert "`$.lines`" in str(caught.value)
    assert "in-0@0" in str(caught.value)


def test_other_types_are_not_written() -> None:
    with pytest.raises(WrongTypeError, match=r"json\(Purchase\) expected Purchase, found dict"):
        serdes.json(Purchase).serialize("topic", {"lines": []})  # type: ignore[arg-type]
    with pytest.raises(SerializationError, match=r"`\$\.ms`"):
        serdes.json(Visit).serialize("topic", {"page": "home", "ms": "x"})  # type: ignore[arg-type]


class Plain:
    pass


@pytest.mark.parametrize("kind", [Plain, Purchase([]), "Purchase"])
def test_what_json_cannot_be_read_into_is_refused_at_the_line(kind: Any) -> None:
    with pytest.raises(ArgumentError, match=r"json\(\) cannot read into") as caught:
        serdes.json(kind)
    assert "dataclass" in str(caught.value.hint)
    assert __file__ in str(caught.value.at)


def test_the_repr_names_the_type() -> None:
    assert repr(serdes.json(Purchase)) == "serdes.json(Purchase)"


_ELSEWHERE = """
import sys
from pyspark import cloudpickle
for serde, data in cloudpickle.loads(sys.stdin.buffer.read()):
    sys.stdout.buffer.write(serde.serialize("t", serde.deserialize("t", data)) + b"\\n")
"""


def elsewhere(shipped: bytes, directory: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", _ELSEWHERE]
    return subprocess.run(command, input=shipped, capture_output=True, check=False, timeout=300, cwd=directory)


def shipped_by_value(value: Any) -> bytes:
    ship_by_value(sys.modules[__name__])
    try:
        return packed(value)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


def test_serdes_travel_to_processes_that_do_not_know_the_module_of_the_type() -> None:
    pairs = [
        (serdes.json(Purchase), b'{"lines":[{"item":"tea","price":4.5}],"at":null,"tags":{}}'),
        (serdes.json(PageView), b'{"page":"home"}'),
        (serdes.json(Account), b'{"name":"al","limits":[]}'),
        (serdes.json(Click), b'{"page":"home","lines":[]}'),
    ]
    ran = elsewhere(shipped_by_value(pairs), "/")
    assert ran.stdout.splitlines() == [data for _, data in pairs], ran.stderr.decode()


def test_a_struct_of_an_imported_module_travels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "structs_of_a_program.py").write_text("import msgspec\nclass Hit(msgspec.Struct):\n    page: str\n")
    monkeypatch.syspath_prepend(tmp_path)
    hit = importlib.import_module("structs_of_a_program").Hit
    ran = elsewhere(packed([(serdes.json(hit), b'{"page":"home"}')]), str(tmp_path))
    assert ran.stdout == b'{"page":"home"}\n', ran.stderr.decode()


@pytest.mark.parametrize("value", [Line(1), Line("a", None), Line("a", "1"), Line("a", float("nan"))])  # type: ignore[arg-type]
def test_what_could_not_be_read_again_is_not_written(value: Line) -> None:
    with pytest.raises(SerializationError, match=r"cannot write the record: Expected .* at `\$\."):
        serdes.json(Line).serialize("t", value)


@pytest.mark.parametrize("value", [float("nan"), {"a": [1.0, float("inf")]}, [(None, float("-inf"))]])
def test_json_has_no_nan_and_no_infinity(value: Any) -> None:
    with pytest.raises(SerializationError, match="no number"):
        serdes.json().serialize("t", value)
    assert serdes.json().serialize("t", {"a": None, "b": ["null", 1.5]}) == b'{"a":null,"b":["null",1.5]}'
