"""The names of nodes and stores: what the user gave, or a prefix and a number.

A generated name draws the next number of the builder. So does a given one: naming one operator must not
renumber the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import user_line
from headrace.names import check_legal

if TYPE_CHECKING:
    from headrace.plan.builder import GraphBuilder

# streams
SOURCE = "KSTREAM-SOURCE-"
SINK = "KSTREAM-SINK-"
FILTER = "KSTREAM-FILTER-"
PEEK = "KSTREAM-PEEK-"
MAP = "KSTREAM-MAP-"
MAP_VALUES = "KSTREAM-MAPVALUES-"
FLAT_MAP = "KSTREAM-FLATMAP-"
FLAT_MAP_VALUES = "KSTREAM-FLATMAPVALUES-"
FOREACH = "KSTREAM-FOREACH-"
PRINTING = "KSTREAM-PRINTER-"
KEY_SELECT = "KSTREAM-KEY-SELECT-"
PROCESSOR = "KSTREAM-PROCESSOR-"
PROCESS_VALUES = "KSTREAM-PROCESSVALUES-"
BRANCH = "KSTREAM-BRANCH-"
MERGE = "KSTREAM-MERGE-"
REPARTITION = "KSTREAM-REPARTITION-"
TO_TABLE = "KSTREAM-TOTABLE-"
WINDOWED = "KSTREAM-WINDOWED-"
JOIN_THIS = "KSTREAM-JOINTHIS-"
JOIN_OTHER = "KSTREAM-JOINOTHER-"
OUTER_THIS = "KSTREAM-OUTERTHIS-"
OUTER_OTHER = "KSTREAM-OUTEROTHER-"
OUTER_SHARED = "KSTREAM-OUTERSHARED-"
JOIN = "KSTREAM-JOIN-"
LEFT_JOIN = "KSTREAM-LEFTJOIN-"
AGGREGATE = "KSTREAM-AGGREGATE-"
REDUCE = "KSTREAM-REDUCE-"
COGROUP_AGGREGATE = "COGROUPKSTREAM-AGGREGATE-"
COGROUP_MERGE = "COGROUPKSTREAM-MERGE-"

# tables
TABLE_SOURCE = "KTABLE-SOURCE-"
TABLE_SINK = "KTABLE-SINK-"
TABLE_FILTER = "KTABLE-FILTER-"
TABLE_MAP_VALUES = "KTABLE-MAPVALUES-"
TABLE_TRANSFORM_VALUES = "KTABLE-TRANSFORMVALUES-"
TABLE_TO_STREAM = "KTABLE-TOSTREAM-"
TABLE_SELECT = "KTABLE-SELECT-"
TABLE_SUPPRESS = "KTABLE-SUPPRESS-"
TABLE_JOIN_THIS = "KTABLE-JOINTHIS-"
TABLE_JOIN_OTHER = "KTABLE-JOINOTHER-"
TABLE_MERGE = "KTABLE-MERGE-"
TABLE_AGGREGATE = "KTABLE-AGGREGATE-"
TABLE_REDUCE = "KTABLE-REDUCE-"
FK_REGISTRATION = "KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-"
FK_PROCESSOR = "KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-"
FK_STATE_STORE = "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-"
FK_RESPONSE = "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-"
FK_RESOLVER = "KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-"
FK_OUTPUT = "KTABLE-FK-JOIN-OUTPUT-"

STATE_STORE = "STATE-STORE-"
REPARTITION_SUFFIX = "-repartition"
TABLE_SOURCE_SUFFIX = "-source"


def check_name(text: str | None) -> None:
    """Refuse a name that is not legal; None, for no name, passes."""
    if text is not None:
        check_legal(text, "operator or store", at=user_line())


def name_or_generate(name: str | None, builder: GraphBuilder, prefix: str) -> str:
    """``name``, or ``prefix`` with a number. The number is drawn in either case."""
    check_name(name)
    generated = builder.new_processor_name(prefix)
    return generated if name is None else name


def suffixed_or_generate(name: str | None, suffix: str, builder: GraphBuilder, prefix: str) -> str:
    """``name`` and ``suffix``, or ``prefix`` with a number. The number is drawn in either case."""
    generated = builder.new_processor_name(prefix)
    if name is None:
        return generated
    check_name(name + suffix)
    return name + suffix
