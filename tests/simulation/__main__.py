"""``python -m tests.simulation --seeds 10000``: many runs; ``--seed N``: one of them again, step by step."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.simulation.scheduler import Report, simulate


def main(arguments: list[str] | None = None) -> int:
    """Run what the arguments say; 1 where a seed failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="run this one only, and print what happens")
    parser.add_argument("--elsewhere", action="store_true", help="on the broker that fences and loses answers")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        return 0 if fault_of(given.seed, trace=True, is_elsewhere=given.elsewhere) is None else 1
    return _run_all(range(given.first, given.first + given.seeds), is_elsewhere=given.elsewhere)


def fault_of(
    seed: int, *, trace: bool = False, is_elsewhere: bool = False, reports: list[Report] | None = None
) -> str | None:
    """What is wrong with a run, with the command that shows it again; None where all is well."""
    try:
        report = simulate(seed, print if trace else lambda _: None, is_elsewhere=is_elsewhere)
    except Exception:
        text = f"{traceback.format_exc()}\nseed {seed} failed at {_revision()}; see it again:\n"
        text += f"  {sys.executable} -m tests.simulation --seed {seed}{' --elsewhere' if is_elsewhere else ''}"
        if trace:
            print(text)
        return text
    if trace:
        print(report)
    if reports is not None:
        reports.append(report)
    return None


def _run_all(seeds: Iterable[int], *, is_elsewhere: bool) -> int:
    started, reports, failed = time.monotonic(), list[Report](), list[int]()
    for seed in seeds:
        fault = fault_of(seed, is_elsewhere=is_elsewhere, reports=reports)
        if fault is not None:
            failed.append(seed)
            print(fault, flush=True)
    print(f"{len(reports)} seeds are fine, {len(failed)} failed {failed}, {time.monotonic() - started:.0f} s")
    print(f"at {_revision()}: {_totals(reports)}")
    return 1 if failed else 0


def _totals(reports: Iterable[Report]) -> str:
    totals: Counter[str] = Counter()
    for report in reports:
        for name in ("records", "steps", "crashes", "takeovers", "fenced", "stores", "unknown"):
            totals[name] += getattr(report, name)
    return ", ".join(f"{count:,} {name}" for name, count in totals.items())


def _revision() -> str:
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=Path(__file__).parent, capture_output=True, text=True
    )
    return found.stdout.strip() or "unknown revision"


if __name__ == "__main__":
    sys.exit(main())
