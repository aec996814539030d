"""``python -m tests.ksql DIRECTORY``: run a folder of cases, and tell what came of them."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headrace.config import StreamsConfig
from headrace.spark.session import open_session
from tests.conformance.engines import ENGINES, OWN_CLOCK
from tests.ksql.cases import Case, cases
from tests.ksql.errors import ErrorRules
from tests.ksql.functions import with_test_functions
from tests.ksql.on_databases import outcomes_in_databases
from tests.ksql.on_engines import outcomes_on, sampled
from tests.ksql.outcomes import Outcome
from tests.ksql.plan_cases import PlanCases
from tests.ksql.report import side_by_side, summary, table
from tests.ksql.running import CaseRun


def main(run: type[CaseRun] = CaseRun) -> int:
    """Run what the command line asks for; 1 if a case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.ksql", description=__doc__)
    parser.add_argument("directory", type=Path, help="a folder of .jsonl files")
    parser.add_argument("--file", help="only the cases of this file")
    parser.add_argument("--case", help="only cases whose name contains this; shows expected and found")
    parser.add_argument("--plans", action="store_true", help="only compare plans with the recorded ones")
    parser.add_argument("--engine", choices=("driver", *ENGINES), default="driver", help="what runs the queries")
    parser.add_argument("--database", action="store_true", help="with --engine: through a Database, as users do it")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth case of those with results")
    parser.add_argument("--start", type=int, default=0, metavar="N", help="with --every: leave out the first N")
    parser.add_argument("--failed", action="store_true", help="list what failed, with the reason")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each case")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    results: list[tuple[Case, Outcome]] = []
    with _outcomes(given, run) as outcome_of:
        for case in _chosen(given):
            outcome = outcome_of(case)
            results.append((case, outcome))
            if given.json:
                print(json.dumps({"id": case.id, "outcome": outcome.kind.value, "reason": outcome.reason}))
            elif given.case:
                print(side_by_side(case, outcome))
    _tell(results, given)
    return 0 if all(outcome.passed for _, outcome in results) else 1


@contextmanager
def _outcomes(given: argparse.Namespace, run: type[CaseRun]) -> Iterator[Callable[[Case], Outcome]]:
    folder = _rules_folder(given.directory)
    if given.plans:
        yield PlanCases(folder).outcome
        return
    functions, rules = with_test_functions(), ErrorRules(folder / "error-rules.json")
    if given.engine == "driver":
        yield lambda case: run(case, functions, rules).outcome()
        return
    with tempfile.TemporaryDirectory(prefix="headrace-ksql-") as directory, _spark(given.engine):
        run_on = outcomes_in_databases if given.database else outcomes_on
        yield run_on(given.engine, functions, rules, Path(directory))


@contextmanager
def _spark(engine: str) -> Iterator[None]:
    """One session for all cases."""
    if engine not in OWN_CLOCK:
        yield
        return
    session = open_session(StreamsConfig({"application.id": "ksql-cases"}), threads=2)
    try:
        yield
    finally:
        session.stop()


def _rules_folder(directory: Path) -> Path:
    """The folder with the rules about errors: it is beside the cases."""
    return directory if (directory / "error-rules.json").exists() else directory.parent


def _chosen(given: argparse.Namespace) -> list[Case]:
    found = [
        case for case in cases(given.directory) if not given.file or case.file == given.file.removesuffix(".jsonl")
    ]
    found = [case for case in found if not given.case or given.case in case.id]
    return found if given.engine == "driver" and given.every == 1 else sampled(found, given.every, given.start)


def _tell(results: list[tuple[Case, Outcome]], given: argparse.Namespace) -> None:
    if given.json:
        return
    if given.failed:
        for case, outcome in results:
            if not outcome.passed:
                print(f"{case.id}\n    {outcome.reason[:400]}")
    print(table(results))
    print(summary(results))


if __name__ == "__main__":
    sys.exit(main())
