"""The topics inside a query with the formats of their records, by the names that follow from its steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from headrace.sql.catalog.sources import WindowedKeys
from headrace.sql.formats.format_info import ColumnsFormat
from headrace.sql.planning import steps as s
from headrace.sql.planning.aggregates import windowed_keys
from headrace.sql.tree.queries import JoinKind


class Inside(NamedTuple):
    """Topics whose names, behind that of the application, match a pattern."""

    pattern: str
    key: ColumnsFormat
    value: ColumnsFormat
    windows: WindowedKeys | None = None

    def matches(self, name: str) -> bool:
        """Whether this is about the topic."""
        return re.fullmatch(self.pattern, name) is not None


def inside(step: s.Step) -> Iterator[Inside]:
    """What a query keeps and repartitions, step by step from its end."""
    match step:
        case s.StreamGroupBy() | s.StreamGroupByKey() | s.TableGroupBy():
            yield _topic(f"{step.name}-repartition", step.internal_formats)
        case s.StreamWindowedAggregate():
            windows = windowed_keys(step.window_expression, step.emit)
            yield _topic(f"{step.name}-Materialize-changelog", step.internal_formats, windows)
        case s.StreamAggregate() | s.TableAggregate():
            yield _topic(f"{step.name}-Materialize-changelog", step.internal_formats)
        case s.TableSelect():
            yield _topic(f"{step.name}-Last-changelog", step.internal_formats)
        case s.TableSelectKey():
            yield _topic(f"{step.name}-(SelectKey-repartition|Materialize-changelog)", step.internal_formats)
        case s.TableSource():
            yield _topic(f"{'-'.join(step.context[:-1])}-Reduce-changelog", step.state_store_formats)
        case s.StreamStreamJoin():
            yield from _of_join(step)
        case s.StreamTableJoin():
            yield _topic(f"{step.name}-repartition", step.internal_formats, _windows(step.left_source))
        case s.ForeignKeyTableTableJoin():
            yield _topic(r"KTABLE-FK-JOIN-OUTPUT-STATE-STORE-\d+-changelog", step.formats)
    for below in s.inputs(step):
        yield from inside(below)


def _of_join(step: s.StreamStreamJoin) -> Iterator[Inside]:
    left, right, windows = step.left_internal_formats, step.right_internal_formats, _windows(step.left_source)
    if step.join_type is JoinKind.RIGHT:
        left, right = right, left
    yield _topic(f"{step.name}-left-repartition", left, windows)
    yield _topic(f"{step.name}-right-repartition", right, windows)
    yield _topic(r"KSTREAM-(JOINTHIS|OUTERTHIS|OUTERSHARED)-\d+-store-changelog", left, windows)
    yield _topic(r"KSTREAM-(JOINOTHER|OUTEROTHER)-\d+-store-changelog", right, windows)


def _topic(pattern: str, formats: s.Formats, windows: WindowedKeys | None = None) -> Inside:
    return Inside(pattern, formats.key, formats.value, windows)


def _windows(step: s.Step) -> WindowedKeys | None:
    """The windows in the keys that come out of the step."""
    if isinstance(step, s.WindowedStreamSource | s.WindowedTableSource):
        return step.window_info
    below = s.inputs(step)
    return _windows(below[0]) if below else None
