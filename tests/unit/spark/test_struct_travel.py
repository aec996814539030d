"""A ``msgspec.Struct`` of the program's own file is in a worker what it is in the program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
{future}
import sys
from typing import Annotated, ClassVar, Generic, TypeVar
import msgspec

T = TypeVar("T")

class Event(msgspec.Struct, tag=True, rename="camel", kw_only=True):
    event_id: int

    def doubled(self):
        return 2 * self.event_id

class Word(Event, frozen=True, order=True):
    text: Annotated[str, msgspec.Meta(min_length=1)]
    next: "Word | None" = None
    tags: list[str] = []
    notes: dict = msgspec.field(default_factory=dict, name="NOTES")
    LIMIT: ClassVar[int] = 7

    def __post_init__(self):
        if self.text == "bad":
            raise ValueError("a bad word")

    @property
    def loud(self):
        return Word(event_id=self.event_id, text=self.text.upper())

class Plain(Event, tag=False):
    pass

class Box(msgspec.Struct, Generic[T], array_like=True, weakref=True, dict=True):
    content: T

class Strict(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    number: int = 3

def tried(kind, data):
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        return str(error)

def seen():
    following = b'{{"type":"Word","eventId":5,"text":"b"}}'
    word = tried(Word, b'{{"type":"Word","eventId":4,"text":"a","NOTES":{{"z":1}},"next":' + following + b"}}")
    box = tried(Box[list[int]], b"[[1]]")
    box.extra = 1
    return [
        word, word.loud, word.doubled(), word.LIMIT, word < word.next, type(word.next) is Word,
        msgspec.json.encode(word), tried(Word, b'{{"type":"Word","eventId":4,"text":""}}'),
        tried(Word, b'{{"type":"Word","eventId":4,"text":"bad"}}'), tried(Word, b'{{"type":"Word","text":"a"}}'),
        box, msgspec.json.encode(Strict()), tried(Strict, b'{{"other":1}}'), msgspec.json.encode(Plain(event_id=1)),
        Word.__struct_fields__, Word.__match_args__,
    ]

if __name__ == "__main__":
    from headrace.spark.shipping import packed
    packed(seen)  # Twice: what msgspec notes on a class that was used stays here.
    with open(sys.argv[1], "wb") as file:
        file.write(packed((seen, Word)))
    print(seen())
"""
_WORKER = """
import pickle, sys
shipped = open(sys.argv[1], "rb").read()
seen, word = pickle.loads(shipped)
assert pickle.loads(shipped)[1] is word
print(seen())
"""


def ran(*command: str) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("future", ["", "from __future__ import annotations"])
def test_fields_options_and_methods_of_a_struct_arrive(tmp_path: Path, future: str) -> None:
    program, shipped = tmp_path / "program.py", str(tmp_path / "shipped")
    program.write_text(_PROGRAM.format(future=future))
    in_program = ran(str(program), shipped)
    assert ran("-c", _WORKER, shipped) == in_program
    assert "Word(text='A'" in in_program and "Expected `str` of length >= 1" in in_program
