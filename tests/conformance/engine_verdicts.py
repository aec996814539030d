"""Cases on an engine: which can run, how each was cut, and where it agreed with its reference."""

from __future__ import annotations

import concurrent.futures
import functools
import multiprocessing
import os
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.conformance.agreement import Difference
from tests.conformance.cases import quiet
from tests.conformance.engines import ENGINES, OWN_CLOCK
from tests.conformance.left_out import reason_to_leave_out
from tests.conformance.on_batches import Layout, differences
from tests.conformance.specs import Json

_TOLD_EACH = 100


@dataclass
class EngineVerdict:
    """One case: why it was left out, or where it differs in each layout it ran in."""

    name: str
    family: str
    left_out: str | None = None
    runs: dict[Layout, list[Difference]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether all runs agree with the reference."""
        return not any(self.runs.values())


def check_on_engine(case: Json, engine: str, layouts: Sequence[Layout]) -> EngineVerdict:
    """Run a case in every layout, on Spark in one of them. An exception that is no error of ours differs too."""
    verdict = EngineVerdict(case["name"], case["family"], reason_to_leave_out(case, engine))
    if verdict.left_out is None:
        possible = [layout for layout in layouts if layout.can_run(case)]
        for layout in [_chosen(case, possible)] if engine in OWN_CLOCK else possible:
            verdict.runs[layout] = _differences(case, layout, engine)
    return verdict


def _chosen(case: Json, layouts: Sequence[Layout]) -> Layout:
    """One of them, always the same."""
    return layouts[zlib.crc32(case["name"].encode()) % len(layouts)]


def check_all_on_engine(cases: Sequence[Json], engine: str, layouts: Sequence[Layout]) -> list[EngineVerdict]:
    """Every case, spread over the cores."""
    check = functools.partial(check_on_engine, engine=engine, layouts=layouts)
    if len(cases) < 8:
        return [check(case) for case in cases]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count() or 1, context, quiet) as pool:
        verdicts = []
        for verdict in pool.map(check, cases, chunksize=4):
            verdicts.append(verdict)
            if len(verdicts) % _TOLD_EACH == 0:
                print(f"{len(verdicts):,} of {len(cases):,} cases", file=sys.stderr, flush=True)
        return verdicts


def _differences(case: Json, layout: Layout, engine: str) -> list[Difference]:
    try:
        return differences(case, layout, ENGINES[engine])
    except Exception as error:
        return [{"where": "crash", "expected": "no error", "found": f"{type(error).__name__}: {error}"}]
