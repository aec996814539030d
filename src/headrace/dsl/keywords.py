"""The keywords that several operators take, for type checkers: nothing here exists at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Generic

    from typing_extensions import TypedDict

    from headrace.durations import Duration
    from headrace.partitioning import Partitioner
    from headrace.serde.contract import GivenSerde, SerdeFor
    from headrace.type_variables import K2, V2, OtherV

    class StoreKeywords(TypedDict, Generic[K2, V2], total=False):
        """Where an operator keeps its table: keys ``K2``, values ``V2``."""

        name: str | None
        store: Any
        key_serde: SerdeFor[K2] | None
        value_serde: GivenSerde[V2] | None
        caching: bool | None
        logging: bool | dict[str, str] | None

    class ForeignKeyKeywords(StoreKeywords[K2, V2], Generic[K2, V2], total=False):
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
