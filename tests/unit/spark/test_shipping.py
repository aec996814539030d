"""Classes and functions of the program's own file are in a worker what they are in the program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import enum, functools
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields
from typing import TypedDict
from headrace import StreamsBuilder, serdes
from headrace.errors import SerializationError

class Color(enum.Enum):
    RED = "red"

class Doors(enum.IntEnum):
    FEW = 2

@dataclass
class Wheel:
    size: int

@dataclass
class Car:
    name: str
    _: KW_ONLY
    color: Color = Color.RED
    wheels: list[Wheel] = field(default_factory=list)

class Order(TypedDict):
    doors: Doors

@functools.lru_cache(maxsize=7, typed=True)
def shout(text):
    return text.upper()

@functools.cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

class Shop:
    @staticmethod
    @functools.cache
    def price(car):
        return len(car)

cars, orders = serdes.json(Car), serdes.json(Order)
builder = StreamsBuilder()
builder.stream("cars", value_serde=cars).filter(lambda key, car: car.color is Color.RED).to("out", value_serde=cars)
builder.stream("orders", value_serde=orders).map_values(shout).to("shouted")

def refused(text):
    try:
        return cars.deserialize("t", text)
    except SerializationError as error:
        return error.message

def look():
    first, second = (cars.deserialize("t", b'{"name":"x"}') for _ in "ab")
    yield refused(b'{"color":"red"}')
    yield refused(b'{"name":"x","wheels":[{}]}')
    yield refused(b'{"name":"x","color":"no"}')
    yield first.wheels == [] and first.wheels is not second.wheels and first.color is Color.RED
    yield fields(Car)[0].default is MISSING
    yield cars.serialize("t", cars.deserialize("t", b'{"name":"x","color":"red"}'))
    yield orders.deserialize("t", b'{"doors":2}')["doors"] is Doors.FEW
    yield orders.serialize("t", {"doors": Doors.FEW})
    yield shout("a"), shout("a"), shout.cache_info().hits, shout.cache_parameters()
    yield fibonacci(50), fibonacci.cache_info().currsize, Shop.price("abc")
"""
_LOOKED = """\
json(Car) cannot read the record: Object missing required field `name`
json(Car) cannot read the record: Object missing required field `size` at `$.wheels[0]`
json(Car) cannot read the record: Invalid enum value 'no' at `$.color`
True
True
b'{"name":"x","color":"red","wheels":[]}'
True
b'{"doors":2}'
('A', 'A', 1, {'maxsize': 7, 'typed': True})
(12586269025, 51, 3)
"""
_CHECK = """
from headrace.spark.travel import check_travel
assert check_travel(builder.build(), {}) is None
import sys
from headrace.spark.shipping import packed, ship_by_value
"""
_SEND = "sys.stdout.buffer.write(packed(look))\n"
_RECEIVE = """
import sys
from pyspark import cloudpickle
for each in cloudpickle.loads(sys.stdin.buffer.read())():
    print(each)
"""


def run(arguments: list[str], directory: Path | str, data: bytes = b"") -> bytes:
    command = [sys.executable, *arguments]
    ran = subprocess.run(command, input=data, capture_output=True, check=False, timeout=300, cwd=directory)
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


@pytest.mark.parametrize("of", ["script", "module"])
def test_a_worker_sees_the_classes_and_functions_as_the_program_does(of: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(_PROGRAM + _CHECK + _SEND)
    (tmp_path / "program.py").write_text(_PROGRAM)
    module = f"import program\nfrom program import builder, look{_CHECK}ship_by_value(program)\n{_SEND}"
    shipped = run(["script.py"] if of == "script" else ["-c", module], tmp_path)
    assert run(["-c", _RECEIVE], "/", shipped).decode() == _LOOKED


def test_a_cached_function_of_an_imported_module_travels_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text("import functools\n@functools.cache\ndef one():\n    return 1\n")
    send = f"import sys\nfrom library import one\nfrom headrace.spark.shipping import packed\n{_SEND}"
    shipped = run(["-c", send.replace("look", "one")], tmp_path)
    receive = (
        "import sys, pickle; one = pickle.loads(sys.stdin.buffer.read()); import library; print(one is library.one)"
    )
    assert run(["-c", receive], tmp_path, shipped) == b"True\n"
