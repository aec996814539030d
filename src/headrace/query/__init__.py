"""Reading state from outside of tasks: the questions one can ask a store, and the replicas that answer them.

``headrace.query.replicas`` follows what an application has committed; ``headrace.query.tables`` makes tables of it.
"""

from headrace.query.metadata_values import (
    ClientInstanceIds,
    HostInfo,
    KeyQueryMetadata,
    LagInfo,
    StreamsMetadata,
    TaskMetadata,
    ThreadMetadata,
)
from headrace.query.standby import StandbyEvent, StandbyStep
from headrace.state.position import Position
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
    "ClientInstanceIds",
    "FailureReason",
    "HostInfo",
    "KeyQuery",
    "KeyQueryMetadata",
    "LagInfo",
    "MultiVersionedKeyQuery",
    "Position",
    "Query",
    "QueryResult",
    "RangeQuery",
    "ResultOrder",
    "StandbyEvent",
    "StandbyStep",
    "StreamsMetadata",
    "TaskMetadata",
    "ThreadMetadata",
    "TimestampedKeyQuery",
    "TimestampedRangeQuery",
    "VersionedKeyQuery",
    "WindowKeyQuery",
    "WindowRangeQuery",
    "execute",
]


def __dir__() -> list[str]:
    return __all__
