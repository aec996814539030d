"""``python -m tests.ksql.fuzz``: statements that went wrong somewhere are read and planned, or refused, nothing else.

Each is a statement of a case with one to three changes: a word or a character lost, doubled, swapped, or taken from
another statement. What is read must be what its own text says again; what is refused by the parser says where.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from headrace.sql import SqlError, parse
from headrace.sql.keywords import KEYWORDS
from headrace.sql.text.format import shown
from tests.ksql.cases import FOLDER, Case, cases
from tests.ksql.planning import planned

_TOKEN = re.compile(r"`[^`]*`|'[^']*'|\w+|<=|>=|<>|->|:=|=>|\S")
_CHARACTERS = "'\"`();,.*=<>-+/%[]{}$:|!?@#~^&\\ \n\t\x00é😀\u2028" + "aA0_"
_CHANGES = (1, 1, 1, 1, 1, 2, 2, 3)
"""How many changes a statement gets, each as likely as the others."""
_CHARACTER, _FREE, _ALIKE = 0.15, 0.6, 0.9
"""How often a change is one of characters, how often one of a name or literal, and how often to one of its kind."""
_READ_ONLY = 5
"""Of so many statements one is planned, too: planning takes fifty times as long as reading."""


@dataclass
class Fuzz:
    """How statements ended, by the code of the error; ``wrong`` are those that ended in another way."""

    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def tell(self) -> str:
        """All of it in lines."""
        lines = [f"{count:8,}  {code}" for code, count in self.ends.most_common()]
        return "\n".join([*lines, *self.wrong, f"{self.ends.total():,} statements, {len(self.wrong)} wrong"])


def fuzz(folder: Path, statements: int, seed: int) -> Fuzz:
    """Try so many statements, the same ones for the same seed."""
    chance, found = random.Random(seed), Fuzz()
    known = [case for corpus in ("qtt", "rqtt") for case in cases(folder / corpus)]
    words = Words({word for case in known for text in case.statements for word in _TOKEN.findall(text)})
    for number in range(statements):
        case = chance.choice(known)
        at = chance.randrange(len(case.statements))
        text = _mutated(case.statements[at], chance, words)
        _try(partial(_read, text), text, found)
        if number % _READ_ONLY == 0 and case.id.startswith("qtt"):
            _try(partial(_plan, case, at, text), text, found)
    return found


def _try(attempt: Callable[[], str], text: str, found: Fuzz) -> None:
    try:
        found.ends[attempt()] += 1
    except Exception as error:
        found.ends["wrong"] += 1
        found.wrong.append(f"{type(error).__name__}: {str(error)[:300]}\n    {text!r}")


def _read(text: str) -> str:
    try:
        trees = [parsed.statement for parsed in parse(text)]
    except SqlError as error:
        assert error.place is not None, f"{error.code} has no place"
        return error.code
    again = [parsed.statement for parsed in parse("".join(f"{shown(tree)};\n" for tree in trees))]
    assert again == trees, "its own text says something else"
    return "read"


def _plan(case: Case, at: int, text: str) -> str:
    try:
        planned(replace(case, statements=(*case.statements[:at], text)))
    except SqlError as error:
        return error.code
    return "planned"


class Words:
    """Words of all statements, by what they look like: one in the place of another of its kind is often no mistake."""

    def __init__(self, words: set[str]) -> None:
        self._all = sorted(words)
        self._alike: dict[str, list[str]] = defaultdict(list)
        for word in self._all:
            self._alike[_kind(word)].append(word)

    def instead_of(self, word: str, chance: random.Random) -> str:
        """A word of the same kind, or any."""
        return chance.choice(self._alike[_kind(word)] if chance.random() < _ALIKE else self._all)


def _kind(word: str) -> str:
    if word[0].isdigit():
        return "number"
    if word[0].isalpha() or word[0] in "_`":
        return "word" if word.upper() in KEYWORDS else "name"
    return "text" if word[0] == "'" else "sign"


def _mutated(text: str, chance: random.Random, words: Words) -> str:
    for _ in range(chance.choice(_CHANGES)):
        text = (
            _with_other_character(text, chance)
            if chance.random() < _CHARACTER
            else _with_other_word(text, chance, words)
        )
    return text


def _with_other_word(text: str, chance: random.Random, words: Words) -> str:
    tokens = _TOKEN.findall(text.rstrip("; \n")) or [";"]
    free = [at for at, token in enumerate(tokens) if _kind(token) in {"name", "number", "text"}]
    if free and chance.random() < _FREE:
        at = chance.choice(free)
        tokens[at] = words.instead_of(tokens[at], chance)
        return f"{' '.join(tokens)};"
    at = chance.randrange(len(tokens))
    match chance.randrange(5):
        case 0:
            tokens[at] = words.instead_of(tokens[at], chance)
        case 1:
            tokens[at] = chance.choice(tokens)
        case 2:
            tokens.insert(at, chance.choice(tokens))
        case 3:
            other = chance.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case _:
            del tokens[at]
    return f"{' '.join(tokens)};"


def _with_other_character(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    kept = text[at + 1 :] if chance.random() < 0.5 else text[at:]
    return text[:at] + (chance.choice(_CHARACTERS) if chance.random() < 0.7 else "") + kept


def main() -> int:
    """Try what the command line asks for; 1 if one ended in another way."""
    parser = argparse.ArgumentParser(prog="python -m tests.ksql.fuzz", description=__doc__)
    parser.add_argument("--statements", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=Path, default=FOLDER, help="the folder with the cases")
    given = parser.parse_args()
    found = fuzz(given.cases, given.statements, given.seed)
    print(found.tell())
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
