"""The keywords that several operators take: ``**keywords: Unpack[StoreKeywords[...]]`` tells type checkers and editors.

``operator_with`` gives the method a signature that lists them, for ``help`` and for errors.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.type_variables import K2, V2, OtherV

if TYPE_CHECKING:
    from typing_extensions import TypedDict

    from headrace.durations import Duration
    from headrace.partitioning import Partitioner
    from headrace.serde.contract import SerdeFor
else:

    class TypedDict:
        """Python 3.10 has no generic ones; at run time the names are all that matters."""

        def __init_subclass__(cls, *, total: bool = True) -> None:
            super().__init_subclass__()


KeySerde = TypeVar("KeySerde")
ValueSerde = TypeVar("ValueSerde")


class AggregationKeywords(TypedDict, Generic[KeySerde, ValueSerde], total=False):
    """How an aggregation keeps its table; the type parameters say what its serdes are."""

    key_serde: KeySerde | None
    value_serde: ValueSerde | None
    caching: bool | None
    logging: bool | dict[str, str] | None


class RetentionKeywords(AggregationKeywords[KeySerde, ValueSerde], Generic[KeySerde, ValueSerde], total=False):
    """Those of an aggregation that may be windowed."""

    retention: Duration | None


class StoreKeywords(TypedDict, Generic[KeySerde, ValueSerde], total=False):
    """Where an operator keeps its table."""

    store: Any
    key_serde: KeySerde | None
    value_serde: ValueSerde | None
    caching: bool | None
    logging: bool | dict[str, str] | None


class TableKeywords(StoreKeywords[KeySerde, ValueSerde], Generic[KeySerde, ValueSerde], total=False):
    """Where it keeps it, and what the operator is called."""

    name: str | None


class ForeignKeyKeywords(TableKeywords[KeySerde, ValueSerde], Generic[KeySerde, ValueSerde], total=False):
    """Those of a foreign-key join."""

    partitioner: Partitioner | None
    other_partitioner: Partitioner | None


class StreamJoinKeywords(TypedDict, Generic[K2, V2, OtherV], total=False):
    """Those of a join of two streams: the serdes are those of their keys and of the values of each."""

    key_serde: SerdeFor[K2] | None
    value_serde: SerdeFor[V2] | None
    other_value_serde: SerdeFor[OtherV] | None
    store_name: str | None
    this_store: Any
    other_store: Any
    store_kind: Any
    logging: bool | dict[str, str] | None
    name: str | None


class TableJoinKeywords(TypedDict, Generic[K2, V2, OtherV], total=False):
    """Those of a join of a stream with a table."""

    key_serde: SerdeFor[K2] | None
    value_serde: SerdeFor[V2] | None
    other_value_serde: SerdeFor[OtherV] | None
    grace: Duration | None
    name: str | None


def with_keywords(signature: inspect.Signature, keywords: type) -> inspect.Signature:
    """``signature`` with the names of ``keywords`` in the place of its ``**keywords``."""
    *own, _ = signature.parameters.values()
    listed = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for base in reversed(keywords.__mro__)
        for name, annotation in inspect.get_annotations(base).items()
    ]
    return signature.replace(parameters=[*own, *listed])
