"""``python -m bench``: the task path as a multiple of a hand-written loop that does the same to the same values.

Both sides read the same bytes and hand the same bytes to the same list. Each is timed several times, in turns; the best
counts, and the ratio of the two is printed.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import programs
from bench.programs import Program, Written


@dataclass(frozen=True)
class Measured:
    """Microseconds per record of both sides."""

    program: str
    loop_us: float
    task_us: float

    @property
    def ratio(self) -> float:
        """How many times as long the task takes."""
        return self.task_us / self.loop_us


def seconds(run: Callable[[], Written]) -> float:
    """Processor seconds of one run, without the garbage collector's pauses; what else runs here does not count."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        run()
        return time.process_time() - start
    finally:
        gc.enable()


def measure(program: Program, records: list[Any], rounds: int) -> Measured:
    """The best of several runs of both sides, in turns; they must have written the same."""
    if program.loop(records) != program.task(records)():
        message = f"{program.name}: the loop and the task wrote different records"
        raise AssertionError(message)
    loop = task = float("inf")
    for _ in range(rounds):
        loop = min(loop, seconds(lambda: program.loop(records)))
        task = min(task, seconds(program.task(records)))
    return Measured(program.name, loop / len(records) * 1e6, task / len(records) * 1e6)


def main() -> None:
    """Measure every program and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    records = programs.records(arguments.records)
    results = [measure(program, records, arguments.rounds) for program in programs.PROGRAMS]
    if arguments.json:
        print(json.dumps([{**vars(result), "ratio": result.ratio} for result in results]))
        return
    table = Table(
        "program", "loop, µs/record", "task, µs/record", "task / loop", title="task path against a plain loop"
    )
    for result in results:
        table.add_row(result.program, f"{result.loop_us:.2f}", f"{result.task_us:.2f}", f"{result.ratio:.1f}×")
    Console().print(table)


if __name__ == "__main__":
    main()
