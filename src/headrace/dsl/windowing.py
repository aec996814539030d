"""What each kind of windows means for an aggregation: its store, its processor, the serde of its keys.

Shared by the windowed views of grouped and of cogrouped streams.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.errors import OperatorTypeError, user_line
from headrace.plan.stores import Materializer, SessionMaterializer, SlidingWindowMaterializer, WindowMaterializer
from headrace.processors.aggregation import Aggregation, Aggregator, Initializer, Merger
from headrace.processors.session_aggregate import SessionAggregate
from headrace.processors.sliding_window_aggregate import SlidingWindowAggregate
from headrace.processors.window_aggregate import WindowAggregate
from headrace.serde.windowed import SessionWindowedSerde, TimeWindowedSerde
from headrace.windows import EmitStrategy, SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows

if TYPE_CHECKING:
    from headrace.plan.materialized import Materialized
    from headrace.serde import Serde


@dataclass(frozen=True)
class Fold:
    """The functions of an aggregation; only sessions merge."""

    initializer: Initializer
    aggregator: Aggregator
    merger: Merger | None = None


@dataclass(frozen=True)
class TimeWindowing:
    """Windows that the clock draws."""

    windows: Any
    _materializer: ClassVar[Callable[..., Materializer]] = WindowMaterializer
    _aggregation: ClassVar[Callable[..., Aggregation]] = WindowAggregate

    @property
    def close_after_ms(self) -> int:
        """How long after its end a window takes records."""
        return self.windows.grace_ms  # type: ignore[no-any-return]

    def store(self, materialized: Materialized, emit: EmitStrategy) -> Materializer:
        """The builder of the store."""
        return self._materializer(materialized, self.windows, emit)

    def supplier(self, store: Materializer, emit: EmitStrategy, fold: Fold) -> Aggregation:
        """The supplier of the processor."""
        return self._aggregation(store, self.windows, emit, fold.initializer, fold.aggregator)

    def key_serde(self, inner: Serde[Any] | None) -> Serde[Any]:
        """The serde of the table's keys; without ``inner`` it is around the default one."""
        return TimeWindowedSerde(inner, self.windows.size_ms)


class SlidingWindowing(TimeWindowing):
    """Windows that slide with the records."""

    _materializer = SlidingWindowMaterializer
    _aggregation = SlidingWindowAggregate

    def key_serde(self, inner: Serde[Any] | None) -> Serde[Any]:
        """Around ``inner``, with windows as long as two records may lie apart."""
        return TimeWindowedSerde(inner, self.windows.difference_ms)


class SessionWindowing(TimeWindowing):
    """Windows that last as long as records keep coming."""

    _materializer = SessionMaterializer

    @property
    def close_after_ms(self) -> int:
        """A session also takes what prolongs it."""
        return self.windows.grace_ms + self.windows.gap_ms  # type: ignore[no-any-return]

    def supplier(self, store: Materializer, emit: EmitStrategy, fold: Fold) -> Aggregation:
        """The supplier of the processor, which merges."""
        if fold.merger is None:
            raise OperatorTypeError("an aggregation in sessions needs a merger", at=user_line())
        return SessionAggregate(store, self.windows, emit, fold.initializer, fold.aggregator, fold.merger)

    def key_serde(self, inner: Serde[Any] | None) -> Serde[Any]:
        """Around ``inner``."""
        return SessionWindowedSerde(inner)


def windowing_of(windows: Any) -> TimeWindowing:
    """What ``windows`` mean; an error where they do not say how to window."""
    if isinstance(windows, (TimeWindows, UnlimitedWindows)):
        return TimeWindowing(windows)
    if isinstance(windows, SlidingWindows):
        return SlidingWindowing(windows)
    if isinstance(windows, SessionWindows):
        return SessionWindowing(windows)
    message = f"windowed_by() takes TimeWindows, UnlimitedWindows, SlidingWindows or SessionWindows, not {windows!r}"
    raise OperatorTypeError(message, hint="For example TimeWindows(timedelta(minutes=5)).", at=user_line())
