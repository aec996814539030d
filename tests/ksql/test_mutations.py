"""Statements that went wrong somewhere: they are planned or refused, and nothing else happens."""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import replace

import pytest

from headrace.sql import SqlError
from tests.ksql.cases import FOLDER, MISSING, cases
from tests.ksql.planning import planned

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=MISSING)
_TOKEN = re.compile(r"`[^`]*`|'[^']*'|\w+|<=|>=|<>|->|:=|=>|\S")
_STATEMENTS = 3000


def _mutated(text: str, chance: random.Random, words: list[str]) -> str:
    tokens = _TOKEN.findall(text.rstrip("; \n"))
    at = chance.randrange(len(tokens))
    match chance.randrange(4):
        case 0:
            tokens[at] = chance.choice(words)
        case 1:
            tokens[at] = chance.choice(tokens)
        case 2:
            tokens.insert(at, chance.choice(tokens))
        case _:
            del tokens[at]
    return f"{' '.join(tokens)};"


def test_a_mutated_statement_is_planned_or_refused() -> None:
    chance = random.Random(20)
    found = list(cases(FOLDER / "qtt"))
    words = sorted({word for case in found for word in _TOKEN.findall(case.statements[-1])})
    ends: Counter[str] = Counter()
    for _ in range(_STATEMENTS):
        case = chance.choice(found)
        last = _mutated(case.statements[-1], chance, words)
        try:
            planned(replace(case, statements=(*case.statements[:-1], last)))
        except SqlError as error:
            ends[error.code] += 1
        else:
            ends["planned"] += 1
    # Far from all are mere mistakes of grammar: the planner is tried, too.
    assert ends["planned"] > 100
    assert len(ends) > 15
