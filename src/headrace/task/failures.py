"""What a failure in a user's function looks like from outside: which node, which record, which line."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping
from itertools import dropwhile
from types import FrameType, ModuleType

from headrace.errors import HeadraceError, ProcessingError, StreamsError
from headrace.libraries import LIBRARIES, PACKAGE
from headrace.processors.api import FixedKeyProcessor, Processor
from headrace.records import RawRecord, Record, RecordContext
from headrace.serde.contract import OTHER_SERDE

QUITTING = (SystemExit, KeyboardInterrupt, GeneratorExit)
"""What a function may raise that is no Exception. Whoever runs the task says what it is; no handler does."""


def note_node(error: BaseException, node: str) -> None:
    """Remember which node ``error`` left first, for ``noted_node``."""
    if noted_node(error) is None:
        vars(error)["headrace_node"] = node


def noted_node(error: BaseException) -> str | None:
    """The node that ``error`` left first; None where it went through none."""
    return vars(error).get("headrace_node")


def note_part(error: BaseException, part: str) -> None:
    """Remember whether ``error`` is about the key or the value of a record, for ``noted_part``."""
    vars(error)["headrace_part"] = part


def noted_part(error: BaseException) -> str | None:
    """``key`` or ``value``; None where nobody said."""
    return vars(error).get("headrace_part")


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


def line_in(steps: Iterable[tuple[str, int]]) -> str | None:
    """``file:line`` of the user's program in a whole stack of files and lines, outermost first; None without one."""
    return _own_line(list(dropwhile(lambda step: not step[0].startswith(PACKAGE), steps)))


def _own_line(steps: list[tuple[str, int]]) -> str | None:
    run: list[tuple[str, int]] = []
    last_run = run
    for file, line in steps:
        if file.startswith(PACKAGE):
            run = []
        else:
            run.append((file, line))
            last_run = run
    own = [step for step in last_run if not step[0].startswith(LIBRARIES)]
    found = own[-1] if own else last_run[0] if last_run else None
    return None if found is None else f"{found[0]}:{found[1]}"


def own_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Where ``error`` went through the functions that we called, outermost first."""
    frames = dropwhile(lambda frame: not frame.filename.startswith(PACKAGE), traceback.extract_tb(error.__traceback__))
    return [frame for frame in frames if not frame.filename.startswith((PACKAGE, *LIBRARIES))]


def processing_error(
    node: str, context: RecordContext | None, error: BaseException, during: str | None = None
) -> ProcessingError:
    """The error a caller sees when ``error`` left the node and no handler wanted to go on.

    What the user's function raised is the headline, its line the first place. An error of ours already knows what
    went wrong and what to do about it; one of the user's program may be expected.
    """
    return ProcessingError(
        headline(error),
        detail=_joined(during, details(error)),
        hint=remedy(error) or _way_on(error),
        at=place(error, node, context),
    )


def _way_on(error: BaseException) -> str:
    if not isinstance(error, (TypeError, AttributeError)):
        return _GO_ON
    # Nulls come with any serde.
    is_null = "NoneType" in text_of(error)
    return _GO_ON_OR_CORRECT if is_null else f"{_IS_IT_THE_SERDE} {_GO_ON_OR_CORRECT}"


def remedy(error: BaseException) -> str | None:
    """What to do about ``error``; None where only the user can know.

    >>> remedy(NameError("name 'cout' is not defined"))
    'This looks like a mistake in the program: correct it and start again, nothing was skipped.'
    """
    if isinstance(error, HeadraceError):
        return error.hint
    if isinstance(error, AttributeError) and error.name == "context" and isinstance(error.obj, _PROCESSORS):
        return "Call super().init(context) at the beginning of the processor's init(): that keeps the context."
    if isinstance(error, AttributeError) and error.name == "timestamp" and _is_raised_here(error):
        return ONE_RECORD
    return _MISTAKE if _is_mistake(error) else None


def _is_mistake(error: BaseException) -> bool:
    """Whether no record could have caused ``error``. Other type errors come from data of another shape as well."""
    if isinstance(error, AttributeError):
        return isinstance(error.obj, (ModuleType, Record, *_PROCESSORS))
    return isinstance(error, NameError) or (
        isinstance(error, TypeError) and _WRONG_CALL.search(text_of(error)) is not None
    )


def _is_raised_here(error: BaseException) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename.startswith(PACKAGE)


def headline(error: BaseException) -> str:
    """What went wrong, in one line.

    >>> headline(KeyError("c"))
    "KeyError: 'c'"
    """
    if isinstance(error, HeadraceError):
        return error.message
    first = text_of(error).partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def details(error: BaseException) -> str | None:
    """What ``error`` says beyond its headline."""
    if isinstance(error, HeadraceError):
        return error.detail
    return text_of(error).partition("\n")[2].strip() or None


def text_of(error: BaseException) -> str:
    """What ``error`` says. An exception of the user's may fail to say anything: that must not hide which one it is."""
    try:
        return str(error)
    except Exception as failure:
        return f"(its __str__ raised {type(failure).__name__})"


def place(error: BaseException, node: str, context: RecordContext | None = None) -> str:
    """Where ``error`` happened: the line of the user's program, the node, the record."""
    known = getattr(error, "at", None) or ""
    record = None if context is None or context.topic is None else f"record {context.metadata}"
    places = [raised_at(error), f"node {node}", *known.split(", "), record]
    kept = dict.fromkeys(each for each in places if each)
    return ", ".join(sorted(kept, key=lambda each: not _LINE.search(each)))


def unreadable(error: Exception, part: str, record: RawRecord, node: str) -> StreamsError:
    """What is raised for a record whose key or value ``error`` kept from being read."""
    said = error.message if isinstance(error, HeadraceError) else text_of(error)
    message = f"the {part} of a record could not be deserialized: {said}"
    # The serde comes first: most such records are what another one wrote.
    asked = getattr(error, "hint", None) or OTHER_SERDE
    hint = " ".join((asked, *((f"Its source takes {part}_serde=.",) if "serde" in asked else ()), _SKIP_UNREADABLE))
    topic, partition, offset, *_ = record
    at = f"node {node}, record {topic}-{partition}@{offset}"
    return StreamsError(message, detail=getattr(error, "detail", None), hint=hint, at=at)


def add_line(error: HeadraceError, built_at: Mapping[str, str | None]) -> None:
    """Where no function of the user took part, the line that added the failing node helps. Nodes by their names."""
    places = (error.at or "").split(", ")
    nodes = [each.removeprefix("node ") for each in places if each.startswith("node ")]
    line = next((found for node in reversed(nodes) if (found := built_at.get(node))), None)
    if line is not None and not any(_LINE.search(each) for each in places):
        error.at = f"{line}, {error.at}"


_LINE = re.compile(r"^(?!node |record ).*:\d+$")
_PROCESSORS = (Processor, FixedKeyProcessor)
_GO_ON = "Set processing.exception.handler to log_and_continue, or to your own, to go on without such records."
_SKIP_UNREADABLE = (
    "Set deserialization.exception.handler to log_and_continue, or to your own, to go on without such records."
)
_GO_ON_OR_CORRECT = f"{_GO_ON} Where the function is wrong, correct it and start again: nothing was skipped."
_IS_IT_THE_SERDE = (
    "Does the function get the type that it expects? The serde of the source says which: text, without key_serde= and"
    " value_serde=."
)
_WRONG_CALL = re.compile(r"\(\) (takes|missing|got) .*argument")
_MISTAKE = "This looks like a mistake in the program: correct it and start again, nothing was skipped."
ONE_RECORD = "forward() takes one record: record.with_value(...), or Record(key, value, timestamp)."


def _joined(*texts: str | None) -> str | None:
    return "; ".join(text for text in texts if text) or None
