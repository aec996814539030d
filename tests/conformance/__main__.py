"""``python -m tests.conformance DIRECTORY``: run a directory of cases and print how many agree."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.conformance import engine_report
from tests.conformance.cases import check_all, load_cases, quiet
from tests.conformance.compare import ASPECTS, Verdict
from tests.conformance.engine_verdicts import check_all_on_engine
from tests.conformance.engines import ENGINES, OWN_CLOCK
from tests.conformance.on_batches import Layout


def main() -> int:
    """Parse the arguments, run, report."""
    quiet()
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--family", help="only the cases of this family")
    parser.add_argument("--case", help="only this case, with expected and found side by side")
    parser.add_argument("--json", action="store_true", help="the result as JSON")
    parser.add_argument("--engine", choices=("driver", *ENGINES), default="driver", help="what runs the cases")
    parser.add_argument("--partitions", default="1,2,4", help="of an engine: the numbers of partitions to try")
    parser.add_argument("--seeds", default="0", help="of an engine: the seeds that cut the input into batches")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of an engine: only each Nth case")
    parser.add_argument("--start", type=int, default=0, metavar="N", help="with --every: leave out the first N")
    arguments = parser.parse_args()
    cases = load_cases(arguments.directory, arguments.family, arguments.case)
    if not cases:
        print(f"no cases found in {arguments.directory}", file=sys.stderr)
        return 2
    if arguments.engine != "driver":
        return _run_on_engine(cases[arguments.start :: arguments.every], arguments)
    verdicts = check_all(cases)
    failed = sum(not verdict.passed for verdict in verdicts)
    if arguments.json:
        print(json.dumps(_as_json(verdicts), indent=2, default=str))
    else:
        _report(verdicts, details=arguments.case is not None)
    print(f"{len(verdicts) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _run_on_engine(cases: list[Any], arguments: argparse.Namespace) -> int:
    layouts = [
        Layout(int(partitions), int(seed), caches)
        for caches in (False, True)
        for partitions in arguments.partitions.split(",")
        for seed in arguments.seeds.split(",")
    ]
    if arguments.engine in OWN_CLOCK | {"hurried"}:
        layouts = [layout.in_few_batches() for layout in layouts]
    verdicts = check_all_on_engine(cases, arguments.engine, layouts)
    if arguments.json:
        print(json.dumps(engine_report.as_json(verdicts), indent=2, default=str))
    else:
        engine_report.report(verdicts, layouts, details=arguments.case is not None)
    failed = sum(not verdict.passed for verdict in verdicts)
    left_out = sum(verdict.left_out is not None for verdict in verdicts)
    print(f"{len(verdicts) - left_out - failed} passed, {failed} failed, {left_out} left out")
    return 1 if failed else 0


def _as_json(verdicts: Iterable[Verdict]) -> Any:
    return [
        {
            "name": verdict.name,
            "family": verdict.family,
            "passed": verdict.passed,
            "differences": {
                aspect: {"expected": expected, "found": found}
                for aspect, (expected, found) in verdict.differences.items()
            },
        }
        for verdict in verdicts
    ]


def _report(verdicts: list[Verdict], *, details: bool) -> None:
    console = Console(width=None if sys.stdout.isatty() else 150)
    table = Table("family", "cases", "passed", *ASPECTS, title="conformance")
    families: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        families.setdefault(verdict.family, []).append(verdict)
    for family, members in sorted(families.items()):
        table.add_row(family, str(len(members)), str(sum(v.passed for v in members)), *_cells(members))
    table.add_section()
    table.add_row("all", str(len(verdicts)), str(sum(v.passed for v in verdicts)), *_cells(verdicts))
    console.print(table)
    for verdict in verdicts:
        if not verdict.passed:
            console.print(
                f"[red]{verdict.family} {verdict.name}[/red]: {', '.join(verdict.differences)}", highlight=False
            )
            if details:
                _side_by_side(console, verdict)


def _cells(verdicts: list[Verdict]) -> list[str]:
    checked: Counter[str] = Counter()
    equal: Counter[str] = Counter()
    for verdict in verdicts:
        checked.update(verdict.checked)
        equal.update(verdict.checked - set(verdict.differences))
    return [f"{equal[aspect]}/{checked[aspect]}" if checked[aspect] else "" for aspect in ASPECTS]


def _side_by_side(console: Console, verdict: Verdict) -> None:
    for aspect, (expected, found) in verdict.differences.items():
        table = Table("", "expected", "found", title=aspect, show_lines=True)
        for number, (left, right) in enumerate(_rows(expected, found)):
            mark = "" if left == right else "[red]≠[/red]"
            table.add_row(f"{number} {mark}", _text(left), _text(right))
        console.print(table)


def _rows(expected: Any, found: Any) -> list[tuple[Any, Any]]:
    if isinstance(expected, str) and isinstance(found, str):
        expected, found = expected.splitlines(), found.splitlines()
    if isinstance(expected, list) and isinstance(found, list):
        longer = max(len(expected), len(found))
        return list(
            zip(expected + [None] * (longer - len(expected)), found + [None] * (longer - len(found)), strict=True)
        )
    if isinstance(expected, dict) and isinstance(found, dict):
        return [({k: expected.get(k)}, {k: found.get(k)}) for k in sorted({*expected, *found})]
    return [(expected, found)]


def _text(x: Any) -> str:
    shown = x if isinstance(x, str) else json.dumps(x, default=str)
    return shown.replace("[", "\\[")


if __name__ == "__main__":
    sys.exit(main())
