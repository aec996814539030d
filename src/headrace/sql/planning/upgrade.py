"""CREATE OR REPLACE of a query: it goes on from its offsets and its state, so only what keeps no state may change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from headrace.sql.errors import SqlError
from headrace.sql.planning import steps as s
from headrace.sql.planning.steps import Step, inputs

_PASSIVE = (s.StreamSelect, s.TableSelect, s.StreamFilter, s.TableFilter)
_ENFORCED = (
    s.StreamSource,
    s.TableSource,
    s.StreamSelectKey,
    s.TableSelectKey,
    s.StreamGroupBy,
    s.StreamGroupByKey,
    s.TableGroupBy,
    s.StreamAggregate,
    s.StreamSink,
    s.TableSink,
)
_BELOW = ("source", "left_source", "right_source", "source_schema")
"""Parts of a step that are compared by themselves, or not at all: readers may add columns."""


def check_replacement(old: Step, new: Step) -> None:
    """Refuse a plan whose steps with state are not those of the old one. Filters and projections may come and go."""
    if old == new:
        return
    before, after = list(_lasting(old)), list(_lasting(new))
    for ours, theirs in zip(before, after, strict=False):
        _check_step(ours, theirs)
    if len(before) != len(after):
        more = (before if len(before) > len(after) else after)[min(len(before), len(after))]
        message = f"the step {more.name} is in only one of the two"
        raise _refused(message)


def _lasting(step: Step) -> Iterator[Step]:
    """The steps that keep or move data, from the sink down."""
    if not isinstance(step, _PASSIVE):
        if not isinstance(step, _ENFORCED):
            message = f"queries with the step {step.name} cannot be replaced yet"
            raise _refused(message)
        yield step
    for below in inputs(step):
        yield from _lasting(below)


def _check_step(ours: Step, theirs: Step) -> None:
    if type(ours) is not type(theirs):
        message = f"the step {ours.name} would become {theirs.name}"
        raise _refused(message)
    for each in fields(ours):
        if each.name not in _BELOW and getattr(ours, each.name) != getattr(theirs, each.name):
            message = f"the step {ours.name} must keep its {each.name.replace('_', ' ')}"
            raise _refused(message)


def _refused(why: str) -> SqlError:
    hint = "DROP it and create it anew: it then begins from the beginning."
    return SqlError("ddl.replace", f"the query cannot go on as another one: {why}", hint=hint)
