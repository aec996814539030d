"""What a failure in a user's function looks like from outside: which node, which record, which line."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from types import TracebackType

from headrace.errors import ProcessingError
from headrace.records import RecordContext

_PACKAGE = str(Path(__file__).parent.parent)
_LIBRARIES = tuple(
    {path for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_paths().get(name))}
)


def raised_at(error: BaseException) -> str | None:
    """``file:line`` of the user's program where ``error`` came from; None where no line of it took part.

    The frames after the last one of ours are looked at: the innermost that lies in no library wins.
    """
    run: list[TracebackType] = []
    last_run: list[TracebackType] = []
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            run = []
        else:
            run.append(step)
            last_run = run
        step = step.tb_next
    own = [step for step in last_run if not step.tb_frame.f_code.co_filename.startswith(_LIBRARIES)]
    found = own[-1] if own else last_run[0] if last_run else None
    return None if found is None else f"{found.tb_frame.f_code.co_filename}:{found.tb_lineno}"


def processing_error(what: str, node: str, context: RecordContext | None, error: BaseException) -> ProcessingError:
    """The error a caller sees when ``error`` left the node and no handler wanted to go on."""
    places = [f"node {node}"]
    if context is not None and context.topic is not None:
        places.append(f"record {context.metadata}")
    line = raised_at(error)
    if line is not None:
        places.append(line)
    return ProcessingError(
        f"{what} ({type(error).__name__}: {_first_line(error)})",
        hint="Set processing.exception.handler to log_and_continue, or to your own, to go on without such records.",
        at=", ".join(places),
    )


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
