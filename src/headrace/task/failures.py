"""What a failure in a user's function looks like from outside: which node, which record, which line."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from types import FrameType

from headrace.errors import HeadraceError, ProcessingError
from headrace.records import RecordContext

_PACKAGE = str(Path(__file__).parent.parent)
_LIBRARIES = tuple(
    {path for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_paths().get(name))}
)


def raised_at(error: BaseException) -> str | None:
    """``file:line`` of the user's program where ``error`` came from; None where no line of it took part.

    The frames after the last one of ours are looked at: the innermost that lies in no library wins.
    """
    steps = []
    step = error.__traceback__
    while step is not None:
        steps.append((step.tb_frame.f_code.co_filename, step.tb_lineno))
        step = step.tb_next
    return _own_line(steps)


def line_of(frame: FrameType | None) -> str | None:
    """``file:line`` of the user's program that is running in ``frame``."""
    steps = []
    while frame is not None:
        steps.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return _own_line(steps[::-1])


def _own_line(steps: list[tuple[str, int]]) -> str | None:
    run: list[tuple[str, int]] = []
    last_run = run
    for file, line in steps:
        if file.startswith(_PACKAGE):
            run = []
        else:
            run.append((file, line))
            last_run = run
    own = [step for step in last_run if not step[0].startswith(_LIBRARIES)]
    found = own[-1] if own else last_run[0] if last_run else None
    return None if found is None else f"{found[0]}:{found[1]}"


def processing_error(what: str, node: str, context: RecordContext | None, error: BaseException) -> ProcessingError:
    """The error a caller sees when ``error`` left the node and no handler wanted to go on.

    An error of ours already knows what went wrong and what to do about it; one of the user's program may be expected.
    """
    known = error if isinstance(error, HeadraceError) else None
    places = [f"node {node}"]
    if known is not None and known.at is not None:
        places += [place for place in known.at.split(", ") if place not in places]
    record = None if context is None or context.topic is None else f"record {context.metadata}"
    places += [place for place in (record, raised_at(error)) if place is not None and place not in places]
    return ProcessingError(
        f"{what}: {known.message}" if known is not None else f"{what} ({type(error).__name__}: {_first_line(error)})",
        detail=None if known is None else known.detail,
        hint=_GO_ON if known is None or known.hint is None else known.hint,
        at=", ".join(places),
    )


_GO_ON = "Set processing.exception.handler to log_and_continue, or to your own, to go on without such records."


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
