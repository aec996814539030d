"""Joins as steps: sides get the key and the format that they must share, and columns the names of their sources."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from headrace.sql.analysis.joins import Joined, JoinOn
from headrace.sql.analysis.names import GeneratedNames, joined_name
from headrace.sql.analysis.projection import contents
from headrace.sql.analysis.query import Analysis
from headrace.sql.analysis.scope import Aliased
from headrace.sql.errors import SqlError
from headrace.sql.formats import format_info as formats
from headrace.sql.planning import steps as s
from headrace.sql.planning.flow import Environment, Flow, NeededKey, StarColumn
from headrace.sql.planning.formats import KeyFormat, check_formats, internal_formats, source_key_format
from headrace.sql.planning.join_checks import check_join
from headrace.sql.planning.projections import select
from headrace.sql.planning.schemas import schema, step_schema
from headrace.sql.planning.sources import rekeyed_flow, source_flow
from headrace.sql.text.format import shown
from headrace.sql.tree.expressions import Column, Expression
from headrace.sql.tree.queries import Selected
from headrace.sql.tree.statements import SourceKind
from headrace.sql.tree.types import Struct
from headrace.sql.tree.walking import rewritten


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a join before it is planned: a source or a join, by which expression, under which name."""

    of: Aliased | _Join
    expression: Expression | None
    """In names of its rows; None where the side is joined by the key that it has."""
    name: str

    @property
    def is_moved(self) -> bool:
        """Whether its rows must get another key."""
        if self.expression is None:
            return False
        key = [self.of.key_name] if isinstance(self.of, _Join) else [each.name for each in self.of.source.schema.key]
        return key != [self.expression.name] if isinstance(self.expression, Column) else True

    def preferred(self) -> KeyFormat | None:
        """The key format that it has, unless it must be written anew anyway."""
        if self.is_moved:
            return None
        return self.of.preferred() if isinstance(self.of, _Join) else source_key_format(self.of.source)

    def changes(self, wanted: KeyFormat) -> bool:
        """Whether its keys are written anew to have that format."""
        # Ids of registered schemas are part of the bytes: only keys that are written here can be equal.
        if self.is_moved or wanted.format.format.infers:
            return True
        preferred = self.preferred()
        return preferred is not None and not preferred.same_as(wanted)


@dataclass(frozen=True, slots=True)
class _Join:
    left: _Side
    right: _Side
    on: JoinOn
    prefix: str
    key_name: str | None
    """None where it is the key of the left side: rows found by a foreign key."""
    foreign_key: Expression | None

    def preferred(self) -> KeyFormat | None:
        """The left side's, or the right side's if the left one is written anew anyway."""
        return self.left.preferred() or self.right.preferred()

    def sources(self) -> Iterator[Aliased]:
        """Its sources from left to right."""
        for side in (self.left, self.right):
            yield from side.of.sources() if isinstance(side.of, _Join) else (side.of,)

    def shared_format(self, environment: Environment) -> KeyFormat:
        """The key format of both sides."""
        own = (source_key_format(each.source) for each in self.sources())
        first = next((each for each in own if each.format.format is not formats.NONE), None)
        return self.preferred() or first or KeyFormat(environment.default_key_format)


def joined(query: Analysis, environment: Environment) -> Flow:
    """The rows of all joins of a query."""
    assert query.joins is not None
    tree = query.joins
    join = _prepared(tree, query, "", environment)
    flow = _planned(join, join.shared_format(environment), environment)
    star = tuple(each for aliased in join.sources() for each in _star(aliased))
    if not join.foreign_key and not tree.viable_keys():
        star = (StarColumn(None, flow.schema.key[0].name), *star)
    return replace(flow, star=star, needed_key=_needed_key(join, tree, flow, query))


def _star(aliased: Aliased) -> tuple[StarColumn, ...]:
    own = source_flow(aliased, "").star
    return tuple(StarColumn(aliased.alias, joined_name(aliased.alias, each.name)) for each in own)


def _needed_key(join: _Join, tree: Joined, flow: Flow, query: Analysis) -> NeededKey:
    if join.foreign_key is not None:
        left = next(join.sources())
        keys = tuple(Column(each.name, left.alias) for each in left.source.schema.key)
        groups = tuple((each, query.scope.row_column(each)) for each in keys)
        return NeededKey("primary key column", groups, " and ".join(map(shown, keys)))
    viable = tree.viable_keys()
    if viable:
        names = " or ".join(map(shown, viable))
        return NeededKey("join expression", ((*viable, *map(query.scope.row_column, viable)),), names)
    hint = "No column is the key of this join, so it has a key of its own. It may be given another name."
    key = Column(flow.schema.key[0].name)
    return NeededKey("join expression", ((key,),), shown(key), hint)


def _prepared(tree: Joined, query: Analysis, prefix: str, environment: Environment) -> _Join:
    left = tree.left if isinstance(tree.left, Aliased) else _prepared(tree.left, query, f"{prefix}L_", environment)
    foreign_key = check_join(tree, _is_table(left), environment)
    is_equal = isinstance(tree.left, Joined) and tree.on.left_expression in tree.left.same_as_key()
    left_by = None if foreign_key is not None or is_equal else _side_expression(tree.on.left_expression, left)
    keeps_right = foreign_key is not None and not _has_foreign_schema(tree.right)
    right_by = None if keeps_right else _side_expression(tree.on.right_expression, tree.right)
    return _Join(
        _Side(left, left_by, f"{prefix}Left"),
        _Side(tree.right, right_by, f"{prefix}Right"),
        tree.on,
        prefix,
        None if foreign_key is not None else _key_name(tree, query),
        None if foreign_key is None else query.scope.in_row(foreign_key),
    )


def _is_table(of: Aliased | _Join) -> bool:
    if isinstance(of, Aliased):
        return of.source.kind is SourceKind.TABLE
    return _is_table(of.left.of) and _is_table(of.right.of)


def _has_foreign_schema(aliased: Aliased) -> bool:
    """A registered schema of a STRUCT may have been made elsewhere, so that its bytes differ from ours."""
    source = aliased.source
    return source.key_format.format.infers and any(isinstance(each.type, Struct) for each in source.schema.key)


def _side_expression(expression: Expression, of: Aliased | _Join) -> Expression:
    """In the names that its rows have at that point: a source's own ones, or those of a join."""
    return rewritten(expression, partial(_row_name, is_joined=isinstance(of, _Join)))


def _row_name(part: Expression, *, is_joined: bool) -> Expression | None:
    if not isinstance(part, Column):
        return None
    name = joined_name(part.source, part.name) if is_joined and part.source is not None else part.name
    return replace(part, name=name, source=None)


def _key_name(tree: Joined, query: Analysis) -> str:
    """Of the columns that may name the key the first that is selected; one of its own where there is none."""
    viable = tree.viable_keys()
    if not viable:
        columns = (column for each in _sources(tree) for column in each.source.schema)
        return GeneratedNames(columns).of_synthetic_key()
    selected = contents(query.items)
    chosen = next(filter(selected.has, viable), viable[0])
    return query.scope.row_column(chosen).name


def _sources(tree: Joined | Aliased) -> Iterator[Aliased]:
    if isinstance(tree, Joined):
        yield from _sources(tree.left)
        yield tree.right
    else:
        yield tree


# Steps


def _planned(join: _Join, key_format: KeyFormat, environment: Environment) -> Flow:
    if join.foreign_key is None:
        _check_partitions(join, environment)
    left = _side_flow(join.left, key_format, environment)
    right = _side_flow(join.right, key_format, environment)
    step = _join_step(join, left, right)
    if join.key_name is not None and left.schema.key[0].type != right.schema.key[0].type:
        ours, theirs = left.schema.key[0].type, right.schema.key[0].type
        message = f"the types in {join.on.condition} differ: {ours} and {theirs}"
        raise SqlError("join.key", message, hint=join.on.with_cast(ours, theirs), offset=join.on.at)
    columns = step_schema(step, [left.schema, right.schema], environment.functions)
    is_table = left.is_table and right.is_table
    if join.foreign_key is not None:
        check_formats(columns, internal_formats(left.key_format, left.value_format))
    return replace(left, step=step, schema=columns, is_table=is_table)


def _side_flow(side: _Side, wanted: KeyFormat, environment: Environment) -> Flow:
    if isinstance(side.of, Aliased):
        flow = source_flow(side.of, f"KafkaTopic_{side.name}")
        return _renamed(_rekeyed(flow, side, wanted, environment), side.of.alias, side.name, environment)
    # A join below takes over the format, unless its rows are written anew in between.
    below = wanted if side.expression is None or not side.changes(wanted) else side.of.shared_format(environment)
    return _rekeyed(_planned(side.of, below, environment), side, wanted, environment)


def _rekeyed(flow: Flow, side: _Side, wanted: KeyFormat, environment: Environment) -> Flow:
    if side.expression is None:
        return flow
    return rekeyed_flow(
        flow,
        (side.expression,),
        (f"{side.name}SourceKeyed",),
        environment,
        key_format=wanted if side.changes(wanted) else None,
        is_forced=wanted.format.format.infers,
    )


def _renamed(flow: Flow, alias: str, name: str, environment: Environment) -> Flow:
    values = [Selected(Column(each.name), joined_name(alias, each.name)) for each in flow.schema.value]
    renamed = schema(
        (replace(each, name=joined_name(alias, each.name)) for each in flow.schema.key),
        (replace(each, name=joined_name(alias, each.name)) for each in flow.schema.value),
    )
    return select(flow, renamed, values, (f"PrependAlias{name}",), environment)


def _join_step(join: _Join, left: Flow, right: Flow) -> s.JoinStep:
    context, kind, on = (f"{join.prefix}Join",), join.on.kind, join.on
    if join.foreign_key is not None:
        stored = internal_formats(left.key_format, left.value_format)
        return s.ForeignKeyTableTableJoin(context, kind, join.foreign_key, stored, left.step, right.step)
    assert join.key_name is not None
    if left.is_table:
        return s.TableTableJoin(context, kind, left.step, right.step, join.key_name)
    ours = internal_formats(left.key_format, left.value_format)
    check_formats(left.schema, ours)
    if right.is_table:
        return s.StreamTableJoin(context, kind, ours, left.step, right.step, join.key_name)
    theirs = internal_formats(left.key_format, right.value_format)
    check_formats(right.schema, theirs)
    assert on.within is not None
    within = on.within
    grace = None if within.grace is None else within.grace.ms
    return s.StreamStreamJoin(
        context,
        kind,
        ours,
        theirs,
        left.step,
        right.step,
        within.before.ms,
        within.after.ms,
        grace,
        join.key_name,
    )


def _check_partitions(join: _Join, environment: Environment) -> None:
    left, right = next(join.sources()), _last_source(join.right)
    # What was joined before has as many partitions on both sides, so the last source tells.
    ours = environment.partitions(_last_source(join.left).source.topic)
    theirs = environment.partitions(right.source.topic)
    if ours is not None and theirs is not None and ours != theirs:
        message = (
            f"{left.alias} and {right.alias} cannot be joined: the number of partitions differs."
            f" {left.alias} has {ours}, {right.alias} has {theirs}"
        )
        hint = "Write one of them to a topic with as many partitions."
        raise SqlError("join.partitions", message, hint=hint, offset=join.on.at)


def _last_source(side: _Side) -> Aliased:
    return _last_source(side.of.right) if isinstance(side.of, _Join) else side.of
