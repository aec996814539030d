"""Where the rows of a table are kept: the store of its query, and the steps between the store and the table."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.sql.functions.registry import Registry
from headrace.sql.planning import steps as s
from headrace.sql.planning.schemas import schema_of, stored_aggregate, stored_source
from headrace.sql.planning.steps import Step
from headrace.sql.schema import Schema


@dataclass(frozen=True, slots=True)
class KeptRows:
    """A store, what it keeps, and what is still to be done to its rows, in order.

    The first of ``steps`` is the one that keeps the rows: an aggregation still has to make results of its states, and
    a source to add the columns that sources add. Windows are in the keys where ``is_windowed``.
    """

    store: str
    schema: Schema
    steps: tuple[Step, ...]
    is_windowed: bool = False


def kept_rows(step: Step, functions: Registry) -> KeptRows | None:
    """Where the rows of a query's result are kept; None where they are kept nowhere."""
    match step:
        case s.TableSink():
            return kept_rows(step.source, functions)
        case s.TableFilter():
            return _then(step, kept_rows(step.source, functions))
        case s.TableSelect():
            below = kept_rows(step.source, functions)
            # What a join gives is kept when columns are chosen from it.
            return _then(step, below) or KeptRows(f"{step.name}-Last", schema_of(step, functions), ())
        case s.StreamAggregate() | s.TableAggregate() | s.StreamWindowedAggregate():
            stored = stored_aggregate(step, schema_of(step.source, functions), functions)
            return KeptRows(f"{step.name}-Materialize", stored, (step,), isinstance(step, s.StreamWindowedAggregate))
        case s.TableSelectKey():
            return KeptRows(f"{step.name}-Materialize", schema_of(step, functions), ())
        case s.TableSource():
            return KeptRows(f"{'-'.join(step.context[:-1])}-Reduce", stored_source(step.source_schema), (step,))
        case _:
            return None


def _then(step: Step, below: KeptRows | None) -> KeptRows | None:
    if below is None:
        return None
    return KeptRows(below.store, below.schema, (*below.steps, step), below.is_windowed)
