"""The cases that an engine cannot be given, and why: each reason is read from the program, never from a result."""

from __future__ import annotations

from collections.abc import Callable

from tests.conformance.engines import OWN_CLOCK
from tests.conformance.program_facts import needs_wall_clock
from tests.conformance.specs import Json


def is_refused_while_built(case: Json) -> bool:
    """Building the program fails: there is no topology to give to an engine."""
    at = case["expected"].get("error", {}).get("at", "start")
    return at != "start" and not at.startswith("input")


def has_no_input(case: Json) -> bool:
    """Nothing is piped in: the case asks about the topology only."""
    fails_at_start = case["expected"].get("error", {}).get("at") == "start"
    return not fails_at_start and not any(step.keys() & {"topic", "advance_wall_clock_ms"} for step in case["inputs"])


def has_illegal_topic_names(case: Json) -> bool:
    """Its internal topics have names that no broker accepts; the driver makes no topics."""
    return "internal_topics_error" in case["expected"]


def is_about_the_driver(case: Json) -> bool:
    """The last input is an error of the test itself: a time or a step of time below zero, a topic that nobody reads."""
    at = case["expected"].get("error", {}).get("at", "")
    if not at.startswith("input"):
        return False
    step = case["inputs"][int(at.removeprefix("input "))]
    return min(step.get("ts", 0), step.get("advance_topic_clock_ms", 0)) < 0 or not _is_read(case, step.get("topic"))


def writes_stores_from_outside(case: Json) -> bool:
    """The test itself puts into a store, which only the driver lets it do."""
    return any("put" in step for step in case["inputs"])


REASONS: tuple[Callable[[Json], bool], ...] = (
    is_refused_while_built,
    has_no_input,
    has_illegal_topic_names,
    is_about_the_driver,
    writes_stores_from_outside,
)


def reason_to_leave_out(case: Json, engine: str) -> str | None:
    """Why the case cannot run on an engine, as the name of a function here; None where it can."""
    reasons = (*REASONS, needs_wall_clock) if engine in OWN_CLOCK else REASONS
    return next((reason.__name__ for reason in reasons if reason(case)), None)


def _is_read(case: Json, topic: str | None) -> bool:
    return any(
        topic == step.get("topic") or topic in (step.get("topics") or ()) or "pattern" in step
        for step in case["topology"]
        if step["op"] not in ("to", "add_sink")
    )
