"""A directory of cases: reading it, and checking all of it over the cores."""

from __future__ import annotations

import concurrent.futures
import json
import logging
import multiprocessing
import os
from pathlib import Path
from typing import Any

from tests.conformance.compare import Verdict, check_case


def load_cases(directory: Path, family: str | None = None, name: str | None = None) -> list[Any]:
    """The cases of a directory, in the order of its files."""
    cases = []
    for path in sorted(directory.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            cases += [json.loads(line) for line in lines if line.strip()]
    return [
        case
        for case in cases
        if (family is None or case["family"] == family) and (name is None or case["name"] == name)
    ]


def check_all(cases: list[Any]) -> list[Verdict]:
    """Check every case, spread over the cores."""
    if len(cases) < 8:
        return [check_case(case) for case in cases]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count() or 1, context, quiet) as pool:
        return list(pool.map(check_case, cases, chunksize=8))


def quiet() -> None:
    """Cases provoke warnings on purpose."""
    logging.disable()
