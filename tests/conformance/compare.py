"""Compares what was found with what Kafka Streams answered, aspect by aspect."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.conformance.errors import java_class, same_kind
from tests.conformance.runner import Failure, run_case

ASPECTS = (
    "steps",
    "stores",
    "describe",
    "internal topics",
    "internal records",
    "side log",
    "dropped records",
    "errors",
)

_FIELDS: dict[str, tuple[str, ...]] = {
    "steps": ("steps", "branches", "queryable"),
    "stores": ("stores",),
    "describe": ("describe",),
    "internal topics": ("internal_topics",),
    "internal records": ("internal",),
    "side log": ("side", "side_at_start", "side_at_close"),
    "dropped records": ("dropped", "metrics"),
}
_RUN_FIELDS = ("steps", "internal", "side", "dropped")
"""What an error cuts short: it covers the inputs before the one that failed."""


@dataclass
class Verdict:
    """The aspects of one case: which it has, and which differ (expected and found)."""

    name: str
    family: str
    checked: set[str] = field(default_factory=set)
    differences: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether every aspect is equal."""
        return not self.differences


def check_case(case: Any, *, in_batches: bool = False) -> Verdict:
    """Run a case and compare it; an exception that is no error of ours is a difference too.

    With ``in_batches`` its records go through the loops that production runs.
    """
    verdict = Verdict(case["name"], case["family"])
    expected = case["expected"]
    try:
        found, failure = run_case(case, in_batches=in_batches)
    except Exception as error:
        verdict.checked.add("errors")
        verdict.differences["errors"] = (expected.get("error"), _crash(error))
        return verdict
    _compare_error(verdict, expected.get("error"), failure)
    if ("internal_topics_error" in expected) != ("internal_topics_error" in found):
        verdict.differences["internal topics"] = (expected.get("internal_topics_error"), found.get("internal_topics"))
    for aspect, fields in _FIELDS.items():
        for name in fields:
            _compare_field(verdict, aspect, name, expected, found)
    return verdict


def _crash(error: Exception) -> str:
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = "" if frame is None else f" at {frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}"
    return f"{type(error).__name__}: {error}{where}"


def _compare_error(verdict: Verdict, expected: Any, failure: Failure | None) -> None:
    if expected is None and failure is None:
        return
    verdict.checked.add("errors")
    if expected is not None and failure is not None and same_kind(expected["class"], failure.error):
        # A port may make a check at build that Java makes at the step.
        steps = expected["at"] not in ("build", "start") and not expected["at"].startswith("input")
        if failure.at == expected["at"] or (steps and failure.at == "build"):
            return
    verdict.differences["errors"] = (expected, None if failure is None else _shown(failure))


def _shown(failure: Failure) -> dict[str, Any]:
    return {
        "class": java_class(failure.error),
        "at": failure.at,
        "ours": f"{type(failure.error).__name__}: {failure.error}",
        "cause": repr(failure.error.__cause__),
    }


def _compare_field(verdict: Verdict, aspect: str, name: str, expected: dict[str, Any], found: dict[str, Any]) -> None:
    if name not in expected:
        if found.get(name) and "error" not in expected and name not in ("queryable",):
            verdict.checked.add(aspect)
            verdict.differences.setdefault(aspect, (None, found[name]))
        return
    wanted, got = expected[name], found.get(name)
    if "error" in expected and name in _RUN_FIELDS and got is not None:
        got = got[: len(wanted)]
    if name in _TEXTS_HIDDEN:
        wanted = _TEXTS_HIDDEN[name](wanted)
    verdict.checked.add(aspect)
    if wanted != got:
        verdict.differences.setdefault(aspect, (wanted, got))


def _hide_in_steps(steps: Any) -> Any:
    """Answers whose dead letters do not show Java's own messages."""
    return [[_hide_in_record(r) for r in step] if isinstance(step, list) else step for step in steps]


def _hide_in_side(steps: Any) -> Any:
    """Side logs whose processing errors do not show Java's own messages."""
    return [[_hide_in_line(line) for line in step] for step in steps]


def _hide_in_line(line: list[str]) -> list[str]:
    if line[0] != "processing" or line[-1].startswith("TestError"):
        return line
    return [*line[:-1], line[-1].split(":")[0] + ": *"]


def _hide_in_record(record: Any) -> Any:
    headers = record.get("headers", [])
    exception = next((value for name, value in headers if name == "__streams.errors.exception"), None)
    if exception in (None, "TestError"):
        return record
    shown = [[n, "*"] if n == "__streams.errors.message" else [n, v] for n, v in headers]
    return {**record, "headers": shown}


_TEXTS_HIDDEN = {"steps": _hide_in_steps, "side": _hide_in_side}
