"""Reading state from outside of tasks: the questions one can ask a store, and the replicas that answer them.

``headrace.query.replicas`` follows what an application has committed; ``headrace.query.tables`` makes tables of it.
"""

from headrace.state.query import (
    FailureReason,
    KeyQuery,
    MultiVersionedKeyQuery,
    Query,
    QueryResult,
    RangeQuery,
    ResultOrder,
    TimestampedKeyQuery,
    TimestampedRangeQuery,
    VersionedKeyQuery,
    WindowKeyQuery,
    WindowRangeQuery,
    execute,
)

__all__ = [
    "FailureReason",
    "KeyQuery",
    "MultiVersionedKeyQuery",
    "Query",
    "QueryResult",
    "RangeQuery",
    "ResultOrder",
    "TimestampedKeyQuery",
    "TimestampedRangeQuery",
    "VersionedKeyQuery",
    "WindowKeyQuery",
    "WindowRangeQuery",
    "execute",
]


def __dir__() -> list[str]:
    return __all__
