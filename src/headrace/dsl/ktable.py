"""KTable: a changelog read as a table, and the operations on it. Joins are laid out in ``table_joins``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

from headrace.dsl import grouped_table, table_joins
from headrace.dsl.join_kinds import INNER, LEFT, OUTER
from headrace.dsl.keywords import StoreKeywords
from headrace.dsl.operator import check_function, operator, operator_with, taken
from headrace.dsl.view import View
from headrace.errors import OperatorTypeError, TopologyError, user_line
from headrace.plan import names
from headrace.plan.graph import (
    ProcessorGraphNode,
    StateConnectorNode,
    Step,
    TableSuppressNode,
    VersionedSemanticsNode,
    grace_above,
)
from headrace.plan.materialized import Materialized
from headrace.plan.names import name_or_generate
from headrace.plan.stores import KeyValueMaterializer
from headrace.processors.materialized import ValueGetterSupplier
from headrace.processors.suppress import Suppress
from headrace.processors.table_filter import TableFilter
from headrace.processors.table_group_by import TableGroupBy
from headrace.processors.table_map_values import TableMapValues
from headrace.processors.table_to_stream import TableToStream
from headrace.processors.table_transform_values import TableTransformValues
from headrace.serde.windowed import windowed_or_none
from headrace.state.buffers.suppress import SuppressBuffer, suppress_buffer
from headrace.state.operator_store import OperatorStoreBuilder
from headrace.type_variables import K2, V2, K, OtherK, OtherV, V
from headrace.windows import Suppressed

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headrace.dsl.keywords import ForeignKeyKeywords, TableKeywords
    from headrace.dsl.kstream import KStream
    from headrace.partitioning import Partitioner
    from headrace.serde.contract import GivenSerde, SerdeFor


@dataclass(eq=False, repr=False)
class KTable(View[K, V]):
    """A table: one row per key. Each record is the new row of its key; a record without a value deletes the row.

    ``queryable_store_name`` is the name of the store that keeps the table; None where it has none to query. The result
    of an operator is kept only with ``store=`` (a name, a supplier from ``stores``, or True) or another keyword of
    stores; without one it is worked out from the rows above when someone needs it.
    """

    queryable_store_name: str | None
    supplier: Any

    def value_getter_supplier(self) -> ValueGetterSupplier:
        """How joins look rows up. Asking makes a source table keep its rows in a store."""
        return self.supplier.view()  # type: ignore[no-any-return]

    def enable_sending_old_values(self, force: bool) -> bool:
        """Make the table's changes carry old values; False where that would need a store and none is forced."""
        return self.supplier.enable_sending_old_values(force)  # type: ignore[no-any-return]

    @operator_with(StoreKeywords)
    def filter(
        self,
        predicate: Callable[[K, V], object],
        *,
        name: str | None = None,
        **keywords: Unpack[StoreKeywords[SerdeFor[K], SerdeFor[V]]],
    ) -> KTable[K, V]:
        """The rows for which ``predicate(key, value)`` holds.

        A row that no longer holds is deleted from the result. The predicate is not asked about deletions.

        >>> builder = StreamsBuilder()
        >>> builder.table("in").filter(lambda key, n: n > 1).to_stream().to("out")
        >>> run(builder, ("a", 2), ("a", 1))
        [('a', 2), ('a', None)]
        """
        check_function(predicate, 2, operator="filter", argument="predicate")
        materialized = Materialized.of(**keywords)
        return self._filter(predicate, False, name, materialized)

    @operator_with(StoreKeywords)
    def filter_not(
        self,
        predicate: Callable[[K, V], object],
        *,
        name: str | None = None,
        **keywords: Unpack[StoreKeywords[SerdeFor[K], SerdeFor[V]]],
    ) -> KTable[K, V]:
        """The rows for which ``predicate(key, value)`` does not hold. The keywords are those of ``filter``.

        >>> builder = StreamsBuilder()
        >>> builder.table("in").filter_not(lambda key, n: n > 1).to_stream().to("out")
        >>> run(builder, ("a", 1), ("a", 2))
        [('a', 1), ('a', None)]
        """
        check_function(predicate, 2, operator="filter_not", argument="predicate")
        materialized = Materialized.of(**keywords)
        return self._filter(predicate, True, name, materialized)

    def _filter(
        self,
        predicate: Callable[[K, V], object],
        negate: bool,
        name: str | None,
        materialized: Materialized | None,
    ) -> KTable[K, V]:
        kept = self._store_if_named(materialized, burn=names.TABLE_FILTER)
        name = name_or_generate(name, self.builder, names.TABLE_FILTER)
        supplier = TableFilter(self.supplier, kept, predicate, negate)
        node = VersionedSemanticsNode(name, Step(name, supplier))
        return self._derived(node, supplier, materialized, inherit_value_serde=True)

    @overload
    def map_values(
        self,
        mapper: Callable[[V], V2 | None],
        *,
        with_key: Literal[False] = False,
        **keywords: Unpack[TableKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]: ...
    @overload
    def map_values(
        self,
        mapper: Callable[[K, V], V2 | None],
        *,
        with_key: Literal[True],
        **keywords: Unpack[TableKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]: ...
    @operator_with(StoreKeywords)
    def map_values(
        self,
        mapper: Callable[..., V2 | None],
        *,
        with_key: bool = False,
        name: str | None = None,
        **keywords: Unpack[StoreKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]:
        """The table with each value mapped: ``mapper(value)``, or ``mapper(key, value)`` with ``with_key``.

        The mapper is not asked about deletions. It may be called again for the same row, so it must depend on its
        arguments alone. A result of None deletes the row.

        >>> builder = StreamsBuilder()
        >>> builder.table("in").map_values(lambda n: n * 10).to_stream().to("out")
        >>> run(builder, ("a", 2), ("a", None))
        [('a', 20), ('a', None)]
        """
        check_function(mapper, 2 if with_key else 1, operator="map_values", argument="mapper")
        materialized = Materialized.of(**keywords)
        kept = self._store_if_named(materialized, burn=names.TABLE_MAP_VALUES)
        name = name_or_generate(name, self.builder, names.TABLE_MAP_VALUES)
        supplier = TableMapValues(self.supplier, kept, mapper, with_key)
        return self._derived(ProcessorGraphNode(name, Step(name, supplier)), supplier, materialized)

    @operator_with(StoreKeywords)
    def transform_values(
        self,
        supplier: Callable[[], Any],
        *,
        stores: Iterable[str] = (),
        name: str | None = None,
        **keywords: Unpack[StoreKeywords[SerdeFor[K], SerdeFor[Any]]],
    ) -> KTable[K, Any]:
        """The table with each value transformed by ``transform(key, value)`` of an object that ``supplier`` makes.

        The object also has ``init(context)`` and ``close()``; ``stores`` names the state stores that it uses. Unlike a
        mapper it is asked about deletions too, with the value None. It cannot forward.

        >>> class Known:
        ...     def init(self, context): ...
        ...     def transform(self, key, value):
        ...         return value is not None
        ...     def close(self): ...
        >>> builder = StreamsBuilder()
        >>> builder.table("in").transform_values(Known).to_stream().to("out")
        >>> run(builder, ("a", 2), ("a", None))
        [('a', True), ('a', False)]
        """
        check_function(supplier, 0, operator="transform_values", argument="supplier")
        materialized = Materialized.of(**keywords)
        kept = self._store_if_named(materialized)
        name = name_or_generate(name, self.builder, names.TABLE_TRANSFORM_VALUES)
        table = TableTransformValues(self.supplier, kept, supplier)
        store_names = (stores,) if isinstance(stores, str) else tuple(stores)
        return self._derived(StateConnectorNode(name, Step(name, table), store_names), table, materialized)

    def _store_if_named(self, materialized: Materialized | None, *, burn: str | None = None) -> Any | None:
        # Without a name nothing is stored here; some operators of Kafka Streams count one index up all the same.
        if materialized is None:
            return None
        materialized.queryable = materialized.store_name is not None
        materialized.key_serde = materialized.key_serde or windowed_or_none(self.key_serde)
        if materialized.queryable:
            return KeyValueMaterializer(materialized)
        if burn is not None:
            self.builder.new_store_name(burn)
        return None

    def _derived(
        self,
        node: ProcessorGraphNode,
        supplier: Any,
        materialized: Materialized | None,
        *,
        inherit_value_serde: bool = False,
    ) -> KTable[K, Any]:
        key_serde, value_serde = self.key_serde, self.value_serde if inherit_value_serde else None
        queryable = None
        if materialized is not None:
            # Any keyword of a store settles whether the result is versioned, also where no store is made.
            node.output_versioned = materialized.is_versioned
            key_serde = materialized.key_serde or key_serde
            value_serde = materialized.value_serde or value_serde
            queryable = materialized.queryable_name
        return self.builder.add_table(self.node, node, supplier, key_serde, value_serde, self.sources, queryable)

    @overload
    def to_stream(self, key_mapper: None = None, *, name: str | None = None) -> KStream[K, V]: ...
    @overload
    def to_stream(self, key_mapper: Callable[[K, V], K2], *, name: str | None = None) -> KStream[K2, V]: ...
    @operator
    def to_stream(self, key_mapper: Callable[[K, V], Any] | None = None, *, name: str | None = None) -> KStream[Any, V]:
        """The changes as a stream, deletions as records without a value; ``key_mapper(key, value)`` gives new keys.

        How many changes come depends on caching: a commit sends the last one of each key.

        >>> builder = StreamsBuilder()
        >>> builder.table("in").to_stream(lambda key, value: key.upper()).to("out")
        >>> run(builder, ("a", 2))
        [('A', 2)]
        """
        if key_mapper is not None:
            check_function(key_mapper, 2, operator="to_stream", argument="key_mapper")
        name = name_or_generate(name, self.builder, names.TABLE_TO_STREAM)
        node = ProcessorGraphNode(name, Step(name, TableToStream))
        stream = self.builder.add_stream(self.node, node, self.key_serde, self.value_serde, self.sources)
        return stream if key_mapper is None else stream.select_key(key_mapper)

    @operator
    def suppress(self, suppressed: Suppressed) -> KTable[K, V]:
        """Hold changes back until their window has closed or a time limit has passed (see ``Suppressed``).

        Only stream time lets results go: without new records they wait. The window's grace period counts. Not for
        versioned tables.

        >>> builder = StreamsBuilder()
        >>> counts = builder.stream("in").group_by_key().windowed_by(TimeWindows(10)).count()
        >>> final = counts.suppress(Suppressed.until_window_closes())
        >>> final.to_stream(lambda window, count: f"{window.key}@{window.start}").to("out")
        >>> run(builder, ("a", "x", 1), ("a", "y", 2), ("a", "z", 10))
        [('a@0', 2)]
        """
        if not isinstance(suppressed, Suppressed):
            message = (
                f"suppress() takes Suppressed.until_window_closes(...) or .until_time_limit(...), not {suppressed!r}"
            )
            raise OperatorTypeError(message, at=user_line())
        if self.node.output_versioned:
            raise TopologyError("suppress() is not supported on versioned tables", at=user_line())
        name = suppressed.name or self.builder.new_processor_name(names.TABLE_SUPPRESS)
        final = suppressed.time_limit_ms is None
        wait_ms = grace_above(self.node) if suppressed.time_limit_ms is None else suppressed.time_limit_ms
        supplier = Suppress(self.supplier, self._suppression_buffer(suppressed), suppressed.buffer, wait_ms, final)
        node = TableSuppressNode(name, Step(name, supplier))
        node.output_versioned = False
        # As in Kafka Streams, the sources above are hidden: the result takes no part in co-partitioning checks.
        sources = (self.name,)
        return self.builder.add_table(self.node, node, supplier, self.key_serde, self.value_serde, sources, None)

    def _suppression_buffer(self, suppressed: Suppressed) -> OperatorStoreBuilder[SuppressBuffer]:
        logging = suppressed.buffer.logging
        if suppressed.name is None:
            store_name = self.builder.new_store_name(names.TABLE_SUPPRESS)
            if logging is not False:
                self.builder.topology.note_implicit_names(changelog_topic=f"{store_name}-changelog")
        else:
            store_name = f"{suppressed.name}-store"
        buffer = suppress_buffer(store_name, self.key_serde, self.value_serde)
        if logging is False:
            return buffer.with_logging_disabled()
        return buffer.with_logging_enabled(logging if isinstance(logging, dict) else {})

    @operator
    def group_by(
        self,
        mapper: Callable[[K, V], tuple[K2 | None, V2 | None] | None],
        *,
        name: str | None = None,
        key_serde: GivenSerde[K2] | None = None,
        value_serde: GivenSerde[V2] | None = None,
    ) -> grouped_table.KGroupedTable[K2, V2]:
        """Group rows anew: ``mapper(key, value)`` gives ``(group key, value)``.

        A pair without key or without value leaves the row out. The rows go through a repartition topic, which ``name``
        names; a row that changes its group first leaves the old one. The mapper sees old rows too and must depend on
        its arguments alone.

        >>> builder = StreamsBuilder()
        >>> builder.table("in").group_by(lambda user, city: (city, user)).count().to_stream().to("out")
        >>> run(builder, ("al", "Zug"), ("bo", "Zug"), ("al", "Chur"))
        [('Zug', 1), ('Zug', 2), ('Zug', 1), ('Chur', 1)]
        """
        check_function(mapper, 2, operator="group_by", argument="mapper")
        select_name = name_or_generate(name, self.builder, names.TABLE_SELECT)
        node = VersionedSemanticsNode(select_name, Step(select_name, TableGroupBy(mapper)))
        self.builder.add_graph_node(self.node, node)
        self.enable_sending_old_values(True)
        key_serde, value_serde = taken(key_serde, value_serde)
        return grouped_table.KGroupedTable(select_name, key_serde, value_serde, self.sources, node, self.builder, name)

    @overload
    def join(
        self,
        other: KTable[K, OtherV],
        joiner: Callable[[V, OtherV], V2 | None],
        **keywords: Unpack[TableKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[OtherK, OtherV],
        joiner: Callable[[V, OtherV], V2 | None],
        *,
        foreign_key: Callable[[V], OtherK | None],
        with_key: Literal[False] = False,
        **keywords: Unpack[ForeignKeyKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]: ...
    @overload
    def join(
        self,
        other: KTable[OtherK, OtherV],
        joiner: Callable[[V, OtherV], V2 | None],
        *,
        foreign_key: Callable[[K, V], OtherK | None],
        with_key: Literal[True],
        **keywords: Unpack[ForeignKeyKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]: ...
    @operator_with(StoreKeywords)
    def join(
        self,
        other: KTable[Any, OtherV],
        joiner: Callable[..., V2 | None],
        *,
        foreign_key: Callable[..., Any] | None = None,
        with_key: bool = False,
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
        name: str | None = None,
        **keywords: Unpack[StoreKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]:
        """Rows that both tables have, joined by ``joiner(left, right)``.

        By key; or, with ``foreign_key(value)`` (``foreign_key(key, value)`` with ``with_key``), with the row of the
        other table that this names. The partitioners are those of the two tables, where they are not the default.

        A change on either side gives a change of the result; when a partner goes, the row is deleted. By key both
        tables must have the same number of partitions; by foreign key they need not, and internal topics carry the
        rows. A row whose foreign key is None has no result and is counted as dropped.

        >>> builder = StreamsBuilder()
        >>> orders, users = builder.table("orders"), builder.table("users")
        >>> priced = orders.join(users, lambda order, city: city, foreign_key=lambda order: order["user"])
        >>> priced.to_stream().to("out")
        >>> run(builder, ("orders", "o1", {"user": "al"}), ("users", "al", "Zug"), ("users", "al", None))
        [('o1', 'Zug'), ('o1', None)]
        """
        materialized = Materialized.of(**keywords)
        partitioners = (partitioner, other_partitioner)
        return table_joins.join(
            self, other, joiner, INNER, name, materialized, foreign_key, with_key=with_key, partitioners=partitioners
        )

    @overload
    def left_join(
        self,
        other: KTable[K, OtherV],
        joiner: Callable[[V, OtherV | None], V2 | None],
        **keywords: Unpack[TableKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[OtherK, OtherV],
        joiner: Callable[[V, OtherV | None], V2 | None],
        *,
        foreign_key: Callable[[V], OtherK | None],
        with_key: Literal[False] = False,
        **keywords: Unpack[ForeignKeyKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]: ...
    @overload
    def left_join(
        self,
        other: KTable[OtherK, OtherV],
        joiner: Callable[[V, OtherV | None], V2 | None],
        *,
        foreign_key: Callable[[K, V], OtherK | None],
        with_key: Literal[True],
        **keywords: Unpack[ForeignKeyKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]: ...
    @operator_with(StoreKeywords)
    def left_join(
        self,
        other: KTable[Any, OtherV],
        joiner: Callable[..., V2 | None],
        *,
        foreign_key: Callable[..., Any] | None = None,
        with_key: bool = False,
        partitioner: Partitioner | None = None,
        other_partitioner: Partitioner | None = None,
        name: str | None = None,
        **keywords: Unpack[StoreKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]:
        """Every row of this table, joined by ``joiner(left, right)``; right is None where the other has no row.

        The keywords are those of ``join``. A row without a foreign key is joined with None and not dropped.

        >>> builder = StreamsBuilder()
        >>> names, cities = builder.table("names"), builder.table("cities")
        >>> names.left_join(cities, lambda name, city: [name, city]).to_stream().to("out")
        >>> run(builder, ("names", "1", "Al"), ("cities", "1", "Zug"))
        [('1', ['Al', None]), ('1', ['Al', 'Zug'])]
        """
        materialized = Materialized.of(**keywords)
        partitioners = (partitioner, other_partitioner)
        return table_joins.join(
            self, other, joiner, LEFT, name, materialized, foreign_key, with_key=with_key, partitioners=partitioners
        )

    @operator_with(StoreKeywords)
    def outer_join(
        self,
        other: KTable[K, OtherV],
        joiner: Callable[[V | None, OtherV | None], V2 | None],
        *,
        name: str | None = None,
        **keywords: Unpack[StoreKeywords[SerdeFor[K], GivenSerde[V2]]],
    ) -> KTable[K, V2]:
        """Every row of either table, joined by ``joiner(left, right)``; None stands for the missing one.

        By key only. The row is deleted when it is gone from both.

        >>> builder = StreamsBuilder()
        >>> names, cities = builder.table("names"), builder.table("cities")
        >>> names.outer_join(cities, lambda name, city: [name, city]).to_stream().to("out")
        >>> run(builder, ("cities", "1", "Zug"), ("cities", "1", None))
        [('1', [None, 'Zug']), ('1', None)]
        """
        materialized = Materialized.of(**keywords)
        return table_joins.join(self, other, joiner, OUTER, name, materialized)
