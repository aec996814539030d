"""Cases run in numbers: a table by file, and one case with expected and found side by side."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import zip_longest

from tests.ksql.cases import Case
from tests.ksql.outcomes import Kind, Outcome


def table(results: list[tuple[Case, Outcome]]) -> str:
    """How many cases of each file ended how."""
    by_file: dict[str, Counter[Kind]] = defaultdict(Counter)
    for case, outcome in results:
        by_file[case.file][outcome.kind] += 1
    width = max(map(len, by_file), default=4)
    head = f"{'file':{width}}" + "".join(f"{kind.value:>14}" for kind in Kind)
    lines = [
        f"{file:{width}}" + "".join(f"{counts[kind] or '':>14}" for kind in Kind)
        for file, counts in sorted(by_file.items())
    ]
    return "\n".join([head, *lines])


def summary(results: list[tuple[Case, Outcome]]) -> str:
    """The last line."""
    passed = sum(outcome.passed for _, outcome in results)
    return f"{passed} passed, {len(results) - passed} failed"


def side_by_side(case: Case, outcome: Outcome, width: int = 90) -> str:
    """A case and what came of it."""
    lines = [case.id, "", *case.statements, "", f"{'expected':{width}}  found"]
    for expected, found in zip_longest(outcome.expected, outcome.found, fillvalue=""):
        left, right = expected.splitlines() or [""], found.splitlines() or [""]
        for first, second in zip_longest(left, right, fillvalue=""):
            lines.append(f"{first:{width}}  {second}")
    return "\n".join([*lines, "", outcome.kind.value])
