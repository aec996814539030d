"""Operations on streams of rows."""

from __future__ import annotations

from functools import partial

from headrace.processors.peek import nothing
from headrace.sql.build.context import BuildContext
from headrace.sql.build.processors import ExplodedRows, FewerKeys, FilteredRows, MappedRows, PresentRows
from headrace.sql.build.rekeying import group_key, new_key
from headrace.sql.build.rows import Exploded, Passing, Projected, is_there
from headrace.sql.build.views import StreamGroupView, StreamView
from headrace.sql.compile import predicate, projection, table_function
from headrace.sql.planning import steps as s


def select(step: s.StreamSelect, below: StreamView, context: BuildContext, *, only_present: bool = False) -> StreamView:
    """Other columns. Records without a row stay so, unless ``only_present`` says that they go no further."""
    schema = context.schema(step, below.schema)
    expressions = [each.expression for each in step.select_expressions]
    project = Projected(projection(expressions, below.schema.value, context.functions), context.logger(step))
    # Its result is not used: it keeps a number free, which names of later nodes count.
    below.stream.peek(nothing)
    if len(schema.key) == len(below.schema.key):
        rows = partial(PresentRows if only_present else MappedRows, project)
        return below.then(below.stream.process_values(rows, name=step.name), schema)
    kept = tuple(
        at for at, column in enumerate(below.schema.key) if step.selected_keys and column.name in step.selected_keys
    )
    return below.then(below.stream.process(partial(FewerKeys, project, kept), name=step.name), schema)


def filtered(step: s.StreamFilter, below: StreamView, context: BuildContext) -> StreamView:
    """Only rows that pass."""
    passing = Passing(predicate(step.filter_expression, below.schema.value, context.functions), context.logger(step))
    below.stream.peek(nothing)
    return below.then(below.stream.process_values(partial(FilteredRows, passing), name=step.name))


def flat_map(step: s.StreamFlatMap, below: StreamView, context: BuildContext) -> StreamView:
    """Several rows for one."""
    functions = tuple(table_function(call, below.schema.value, context.functions) for call in step.table_functions)
    exploded = partial(ExplodedRows, Exploded(functions, context.logger(step)))
    return below.then(below.stream.process_values(exploded, name=step.name), context.schema(step, below.schema))


def select_key(step: s.StreamSelectKey, below: StreamView, context: BuildContext) -> StreamView:
    """Another key."""
    mapper = new_key(step, below.schema, context)
    return below.then(below.stream.map(mapper, name=f"{step.name}-SelectKey"), context.schema(step, below.schema))


def group_by_key(step: s.StreamGroupByKey, below: StreamView, context: BuildContext) -> StreamGroupView:
    """Grouped by the key that there is."""
    serdes = context.serdes(below.schema, step.internal_formats, below.windows)
    return StreamGroupView(below.stream.group_by_key(name=step.name, **serdes), below.schema)


def group_by(step: s.StreamGroupBy, below: StreamView, context: BuildContext) -> StreamGroupView:
    """Grouped by other columns."""
    schema = context.schema(step, below.schema)
    group = below.stream.filter(is_there).group_by(
        group_key(step, below.schema, context),
        name=step.name,
        **context.serdes(schema, step.internal_formats),
    )
    return StreamGroupView(group, schema)
