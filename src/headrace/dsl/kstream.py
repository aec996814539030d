"""KStream: an unbounded stream of records, and everything one can do to it.

Each method adds a node to the graph and returns a view of what comes out of it. The methods that change
records one by one are in ``stream_map_methods``, those that join in ``stream_join_methods``; branches are in
``branched``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.dsl import branched, grouped_stream, ktable
from headrace.dsl.operator import check_function, operator, taken
from headrace.dsl.stream_join_methods import StreamJoinMethods
from headrace.dsl.stream_map_methods import StreamMapMethods
from headrace.dsl.view import View
from headrace.errors import OperatorTypeError, TopologyError, user_line
from headrace.plan import names
from headrace.plan.graph import ProcessorGraphNode, RepartitionNode, StateConnectorNode, Step, StreamSinkNode
from headrace.plan.materialized import Materialized
from headrace.plan.names import name_or_generate
from headrace.plan.repartition import repartition_spec
from headrace.plan.stores import KeyValueMaterializer
from headrace.processors.fixed_key import FixedKeySupplier
from headrace.processors.map import SelectKey
from headrace.processors.pass_through import PassThrough
from headrace.processors.peek import Foreach
from headrace.processors.printing import Print, key_and_value
from headrace.processors.table_source import TableSource
from headrace.serde.windowed import windowed_or_none
from headrace.topology.checks import fresh_processors
from headrace.type_variables import K2, V2, K, V

if TYPE_CHECKING:
    from headrace.partitioning import Partitioner
    from headrace.processors.api import FixedKeyProcessor, Processor
    from headrace.records import RecordContext
    from headrace.serde.contract import GivenSerde, SerdeFor


class KStream(StreamMapMethods[K, V], StreamJoinMethods[K, V]):
    """A stream of independent records. Made by ``StreamsBuilder.stream`` and by the operators below.

    No operator changes the stream it is called on: each returns a new view. One that may change the key forgets the key
    serde and makes the next aggregation or join by key go through a repartition topic; one that changes the value
    forgets the value serde. What is forgotten is the default serde, unless the operator that needs one is given it.
    """

    # Several streams out of one, and one out of several

    @operator
    def split(self, *, name: str | None = None) -> branched.BranchedKStream[K, V]:
        """Send each record to the first of several branches whose predicate holds.

        >>> builder = StreamsBuilder()
        >>> streams = builder.stream("in").split(name="n-").branch(lambda key, n: n < 0, name="minus").default_branch()
        >>> sorted(streams)
        ['n-0', 'n-minus']
        >>> streams["n-minus"].to("out")
        >>> run(builder, ("a", 1), ("b", -1))
        [('b', -1)]
        """
        return branched.BranchedKStream(self, name)

    @operator
    def merge(self, other: KStream[K2, V2], *, name: str | None = None) -> KStream[K | K2, V | V2]:
        """Both streams in one; records of the two come in no particular order.

        The result has no serdes of its own: give the next operator one, where the default does not fit.

        >>> builder = StreamsBuilder()
        >>> builder.stream("web").merge(builder.stream("app")).to("out")
        >>> run(builder, ("web", "a", 1), ("app", "a", 2))
        [('a', 1), ('a', 2)]
        """
        if not isinstance(other, KStream):
            message = f"merge() takes another KStream, not {other!r}"
            raise OperatorTypeError(message, at=user_line())
        node_name = name_or_generate(name, self.builder, names.MERGE)
        node = ProcessorGraphNode(node_name, Step(node_name, PassThrough()), merge=True)
        return self.builder.add_stream(
            [self.node, other.node],
            node,
            None,
            None,
            self.sources | other.sources,
            repartition_required=self.repartition_required or other.repartition_required,
        )

    # The end of a stream

    @operator
    def foreach(self, action: Callable[[K, V], object], *, name: str | None = None) -> None:
        """Call ``action(key, value)`` for each record; the stream ends here. Use ``peek`` to go on with it.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").foreach(lambda key, value: print(key, value))
        >>> run(builder, ("a", 1))
        a 1
        []
        """
        check_function(action, 2, operator="foreach", argument="action")
        self._add(names.FOREACH, name, Foreach(action))

    @operator
    def print(
        self,
        path: str | PathLike[str] | None = None,
        label: str | None = None,
        mapper: Callable[[K, V], object] | None = None,
        name: str | None = None,
    ) -> None:
        """Write each record as a line, to the file at ``path`` or else to the standard output.

        A line is ``[label]: `` and what ``mapper(key, value)`` returns; by default the name of the step before, and
        key and value. The file is made anew when the program is built; one that cannot be is a TopologyError.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").print(label="in")
        >>> run(builder, ("a", 1))
        [in]: a, 1
        []
        """
        if mapper is not None:
            check_function(mapper, 2, operator="print", argument="mapper")
        file = None if path is None else _new_file(path)
        self._add(names.PRINTING, name, Print(self.name if label is None else label, mapper or key_and_value, file))

    @operator
    def to(
        self,
        topic: str | Callable[[K, V, RecordContext], str],
        *,
        key_serde: SerdeFor[K] | None = None,
        value_serde: SerdeFor[V] | None = None,
        partitioner: Partitioner | None = None,
        name: str | None = None,
    ) -> None:
        """Write the records to ``topic``, or to the topic that ``topic(key, value, record_context)`` returns.

        A value of a type that the serde does not write stops the task; about others that cannot be written the
        ``production.exception.handler`` is asked. ``partitioner(topic, key, value, partitions)`` gives a partition,
        several, or None for the default one.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").to(lambda key, value, context: "out" if value else "bin")
        >>> run(builder, ("a", 1), ("b", 0))
        [('a', 1)]
        """
        if isinstance(topic, View):
            hint = 'Give the name of a topic: to("out"). Two streams become one with merge().'
            message = f"to() writes to a topic, not to {topic!r}"
            raise OperatorTypeError(message, hint=hint, at=user_line())
        if not isinstance(topic, str):
            check_function(topic, 3, operator="to", argument="topic")
        key_serde, value_serde = taken(key_serde, value_serde)
        node = StreamSinkNode(
            name_or_generate(name, self.builder, names.SINK),
            topic,
            key_serde or self.key_serde,
            value_serde or self.value_serde,
            partitioner,
        )
        self.builder.add_graph_node(self.node, node)

    # Other partitions, other views

    @operator
    def repartition(
        self,
        *,
        key_serde: SerdeFor[K] | None = None,
        value_serde: SerdeFor[V] | None = None,
        partitions: int | None = None,
        partitioner: Partitioner | None = None,
        name: str | None = None,
    ) -> KStream[K, V]:
        """Write the records to an internal topic and read them back, partitioned by their keys or ``partitioner``.

        The topic is called ``<application.id>-<name>-repartition``; ``partitions`` sets their number, which otherwise
        follows from the topics around it. Aggregations and joins repartition by themselves where they must.

        >>> stream = StreamsBuilder().stream("in").select_key(lambda key, value: value)
        >>> stream.repartition_required, stream.repartition(name="by-value", partitions=4).repartition_required
        (True, False)
        """
        key_serde, value_serde = taken(key_serde, value_serde)
        value_serde = value_serde or self.value_serde
        if partitions is not None and (not isinstance(partitions, int) or partitions < 1):
            message = f"partitions must be a whole number, 1 or more, found {partitions!r}"
            raise OperatorTypeError(message, hint="Leave it out to have as many as the topics around.", at=user_line())
        node = RepartitionNode(
            repartition_spec(
                self.builder,
                name if name is not None else self.builder.new_processor_name(names.REPARTITION),
                # As in Kafka, the topic's keys do not fall back to the stream's own serde; its values do.
                key_serde or windowed_or_none(self.key_serde),
                value_serde,
                partitioner=partitioner,
                partitions=partitions,
                optimizable=False,
                provided_by_user=name is not None,
            )
        )
        return self.builder.add_stream(self.node, node, key_serde or self.key_serde, value_serde, [node.name])

    @operator
    def to_table(
        self,
        *,
        store: Any = None,
        key_serde: SerdeFor[K] | None = None,
        value_serde: SerdeFor[V] | None = None,
        caching: bool | None = None,
        logging: bool | dict[str, str] | None = None,
        name: str | None = None,
    ) -> ktable.KTable[K, V]:
        """Read the stream as the changes of a table: each record replaces the row of its key, None deletes it.

        A record without a key is dropped and counted. After an operator that may have changed keys there is a
        repartition topic first.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").to_table().filter(lambda key, n: n > 1).to_stream().to("out")
        >>> run(builder, ("a", 2), ("a", 1))
        [('a', 2), ('a', None)]
        """
        key_serde, value_serde = taken(key_serde, value_serde)
        table_name = name_or_generate(name, self.builder, names.TO_TABLE)
        key_serde, value_serde = key_serde or self.key_serde, value_serde or self.value_serde
        materialized = Materialized.of_table(store, key_serde, value_serde, caching, logging)
        materialized.named(self.builder, names.TO_TABLE)
        parent, sources = self.node, self.sources
        if self.repartition_required:
            parent = RepartitionNode(
                repartition_spec(self.builder, table_name, key_serde, value_serde, provided_by_user=name is not None)
            )
            self.builder.add_graph_node(self.node, parent)
            sources = frozenset([parent.name])
        source = TableSource(KeyValueMaterializer(materialized), materialized.queryable_name)
        node = ProcessorGraphNode(table_name, Step(table_name, source))
        node.output_versioned = materialized.is_versioned
        queryable = materialized.queryable_name
        return self.builder.add_table(parent, node, source, key_serde, value_serde, sources, queryable)

    @operator
    def group_by_key(
        self, *, key_serde: SerdeFor[K] | None = None, value_serde: SerdeFor[V] | None = None, name: str | None = None
    ) -> grouped_stream.KGroupedStream[K, V]:
        """Group the records by the key they have, for an aggregation.

        Nothing is repartitioned unless an operator before may have changed keys; ``name`` then names the topic.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").group_by_key().count().to_stream().to("out")
        >>> run(builder, ("a", "x"), ("a", "y"))
        [('a', 1), ('a', 2)]
        """
        key_serde, value_serde = taken(key_serde, value_serde)
        if key_serde is None and value_serde is None and name is None:
            key_serde, value_serde = self.key_serde, self.value_serde
        key_serde = key_serde or windowed_or_none(self.key_serde)
        return grouped_stream.KGroupedStream(
            self.name,
            key_serde,
            value_serde,
            self.sources,
            self.node,
            self.builder,
            name,
            self.repartition_required,
        )

    @operator
    def group_by(
        self,
        mapper: Callable[[K, V], K2 | None],
        *,
        key_serde: GivenSerde[K2] | None = None,
        value_serde: SerdeFor[V] | None = None,
        name: str | None = None,
    ) -> grouped_stream.KGroupedStream[K2, V]:
        """Group the records by the key that ``mapper(key, value)`` returns, for an aggregation.

        This always goes through a repartition topic, which ``name`` names. A record whose new key is None is dropped.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").group_by(lambda key, word: word[0]).count().to_stream().to("out")
        >>> run(builder, ("1", "ant"), ("2", "ape"), ("3", "bee"))
        [('a', 1), ('a', 2), ('b', 1)]
        """
        check_function(mapper, 2, operator="group_by", argument="mapper")
        node = self._add(names.KEY_SELECT, name, SelectKey(mapper), key_changing=True)
        key_serde, value_serde = taken(key_serde, value_serde)
        if key_serde is None and value_serde is None and name is None:
            value_serde = self.value_serde
        return grouped_stream.KGroupedStream(
            node.name, key_serde, value_serde, self.sources, node, self.builder, name, True
        )

    # The Processor API

    @operator
    def process(
        self,
        supplier: Callable[[], Processor[K, V, K2, V2]],
        *,
        stores: Iterable[str] = (),
        name: str | None = None,
    ) -> KStream[K2, V2]:
        """Hand the records to a processor of your own, which may use ``stores``.

        ``supplier`` is a class or a function without arguments, called once per task; stores it carries in its
        ``stores`` attribute need not be named here. Since the processor may change keys, what follows is repartitioned
        where it groups or joins by key.

        >>> class Twice(Processor):
        ...     def process(self, record):
        ...         self.context.forward(record)
        ...         self.context.forward(record)
        >>> builder = StreamsBuilder()
        >>> builder.stream("in").process(Twice).to("out")
        >>> run(builder, ("a", 1))
        [('a', 1), ('a', 1)]
        """
        _check_supplier(supplier, "process")
        return self._rekeyed(self._add_processor(names.PROCESSOR, name, supplier, stores, key_changing=True))

    @operator
    def process_values(
        self,
        supplier: Callable[[], FixedKeyProcessor[K, V, V2] | Processor[K, V, K, V2]],
        *,
        stores: Iterable[str] = (),
        name: str | None = None,
    ) -> KStream[K, V2]:
        """Hand the records to a processor of your own that may change everything but the key.

        Nothing is repartitioned because of it. Forwarding a record with another key is an error.

        >>> class WithTime(FixedKeyProcessor):
        ...     def process(self, record):
        ...         self.context.forward(record.with_value([record.timestamp, record.value]))
        >>> builder = StreamsBuilder()
        >>> builder.stream("in").process_values(WithTime).to("out")
        >>> run(builder, ("a", "x", 7))
        [('a', [7, 'x'])]
        """
        _check_supplier(supplier, "process_values")
        return self._revalued(self._add_processor(names.PROCESS_VALUES, name, FixedKeySupplier(supplier), stores))

    def _add_processor(
        self, prefix: str, name: str | None, supplier: Any, stores: Iterable[str], *, key_changing: bool = False
    ) -> StateConnectorNode:
        if name is None:
            name = self.builder.new_processor_name(prefix)
        names.check_name(name)
        node = StateConnectorNode(name, Step(name, supplier), _store_names(stores))
        node.value_changing = self.builder.process_changes_records
        node.key_changing = key_changing and node.value_changing
        self.builder.add_graph_node(self.node, node)
        return node


def _new_file(path: str | PathLike[str]) -> Path:
    """``path``, where a new empty file now is; as in Java it is made when the program is built."""
    try:
        Path(path).write_bytes(b"")
    except OSError as error:
        message = f"print() cannot write to {str(path)!r}"
        raise TopologyError(message, detail=str(error), at=user_line()) from error
    return Path(path)


def _store_names(stores: Iterable[str]) -> tuple[str, ...]:
    given = (stores,) if isinstance(stores, str) else tuple(stores)
    for name in given:
        if not isinstance(name, str):
            message = f"stores= takes names of stores, not {name!r}"
            raise OperatorTypeError(
                message, hint="A supplier brings its own store builders along as its attribute stores.", at=user_line()
            )
    return given


def _check_supplier(supplier: Any, operator_name: str) -> None:
    if callable(supplier):  # An instance is told below that its class is wanted.
        check_function(supplier, 0, operator=operator_name, argument="supplier")
    fresh_processors(operator_name, supplier, user_line())
