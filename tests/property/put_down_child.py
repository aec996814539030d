"""A process that works through fixed batches, one after the other, and can be killed and started again at any time.

What was committed lies in one file that is replaced as a whole: that is the driver's commit, and all that counts.
"""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

from headrace.state.version import Version
from tests.property import operators
from tests.property.visiting import Batch, Host, Input, Plan, Program, Result

PROGRAM = Program(
    (
        operators.count,
        operators.sliding_final,
        operators.suppressed_windows,
        operators.outer_stream_join,
        operators.least_recently_used,
        operators.punctuations,
        operators.table_joins,
    ),
    (("statestore.cache.max.bytes", 400), ("dsl.store.suppliers.class", "in_memory")),
)
BATCHES = [
    Batch(
        [
            Input("abtu"[place % 4], "abc"[(place + number) % 3], "xyzab"[(place * number) % 5], 9 * number + place % 7)
            for place in range(12)
        ],
        10 * number,
    )
    for number in range(5)
]
PLAN = Plan(levels=2, chunk_bytes=150)

Committed = tuple[tuple[Version | None, int, dict[str, int], bytes | None], Result]


def read(directory: Path) -> Committed:
    """What was committed so far."""
    path = directory / "committed"
    if not path.exists():
        return (None, 0, {}, None), Result()
    return pickle.loads(path.read_bytes())  # type: ignore[no-any-return]


def write(directory: Path, committed: Committed) -> None:
    draft = directory / "draft"
    draft.write_bytes(pickle.dumps(committed))
    os.replace(draft, directory / "committed")


def main(directory: Path) -> None:
    state, result = read(directory)
    host = Host(PROGRAM, directory / "state", PLAN, state, result)
    for number in range(len(result.produced), len(BATCHES)):
        host.attempt(number, BATCHES[number])
        host.accept()
        write(directory, (host.committed, host.result))
    host.look()
    write(directory, (host.committed, host.result))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
