"""StreamsBuilder: where a program starts. Sources come from here, and the finished topology."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from headrace.config import StreamsConfig
from headrace.dsl.global_table import GlobalKTable
from headrace.dsl.grouped_stream import KGroupedStream
from headrace.dsl.kstream import KStream
from headrace.dsl.ktable import KTable
from headrace.dsl.operator import check_function, operator, taken
from headrace.dsl.view import ViewGraph, Views
from headrace.errors import OperatorTypeError, TopologyError, user_line
from headrace.guesses import Face
from headrace.names import check_topic_text
from headrace.plan import names
from headrace.plan.graph import Consumed, GlobalStoreNode, Step, StoreNode, StreamSourceNode, TableSourceNode
from headrace.plan.materialized import Materialized
from headrace.plan.names import name_or_generate, suffixed_or_generate
from headrace.plan.stores import KeyValueMaterializer
from headrace.processors.table_source import TableSource
from headrace.topology import Topology
from headrace.type_variables import KIn, VIn

if TYPE_CHECKING:
    from headrace.plan.graph import GraphNode
    from headrace.processors.api import Processor
    from headrace.serde.contract import GivenSerde


class StreamsBuilder(Face):
    """Collects streams, tables and what is done to them, and makes a topology of it.

    ``config`` holds settings that shape the topology itself (Java: TopologyConfig), such as the kind of stores.
    Programs that are built the same way get the same names of nodes, stores and internal topics.

    >>> builder = StreamsBuilder()
    >>> builder.stream("lines").filter(lambda key, line: line).to("full-lines")
    >>> print(str(builder.build().describe()).splitlines()[2].strip())
    Source: KSTREAM-SOURCE-0000000000 (topics: [lines])
    """

    def __init__(self, config: Mapping[str, Any] | StreamsConfig | None = None) -> None:
        if config is not None and not isinstance(config, StreamsConfig):
            config = StreamsConfig(config)
        self._graph = ViewGraph(Topology(config), Views(KStream, KTable, KGroupedStream))

    def __repr__(self) -> str:
        read = ", ".join(topic for node in self._graph.nodes for topic in _topics_of(node))
        return f"<StreamsBuilder: {len(self._graph.nodes)} operators, reads {read or 'no topic yet'}>"

    @operator
    def stream(
        self,
        topics: str | Iterable[str] | re.Pattern[str],
        *,
        key_serde: GivenSerde[KIn] | None = None,
        value_serde: GivenSerde[VIn] | None = None,
        timestamp_extractor: Any = None,
        offset_reset: Any = None,
        name: str | None = None,
    ) -> KStream[KIn, VIn]:
        """The records of a topic, of several, or of all topics whose names match a compiled pattern.

        Topics that appear later are read as well; they are looked for every ``metadata.max.age.ms``.

        Several topics are read in no particular order among each other. ``timestamp_extractor(record, partition_time)``
        says what time a record has; ``offset_reset`` is ``"earliest"``, ``"latest"``, ``"none"`` or a timedelta to look
        back.

        >>> builder = StreamsBuilder()
        >>> builder.stream(["web", "app"]).to("out")
        >>> run(builder, ("web", "a", 1), ("app", "b", 2))
        [('a', 1), ('b', 2)]
        """
        if topics is None:
            raise OperatorTypeError("stream() needs a topic, topics or a pattern, not None", at=user_line())
        pattern, read = (topics, None) if isinstance(topics, re.Pattern) else (None, _topics(topics))
        key_serde, value_serde = taken(key_serde, value_serde)
        consumed = Consumed(key_serde, value_serde, timestamp_extractor, offset_reset, name)
        source_name = name_or_generate(name, self._graph, names.SOURCE)
        node = StreamSourceNode(source_name, read, pattern, consumed)
        return self._graph.add_stream(self._graph.root, node, key_serde, value_serde, [source_name])

    @operator
    def table(
        self,
        topic: str,
        *,
        store: Any = None,
        key_serde: GivenSerde[KIn] | None = None,
        value_serde: GivenSerde[VIn] | None = None,
        caching: bool | None = None,
        logging: bool | dict[str, str] | None = None,
        timestamp_extractor: Any = None,
        offset_reset: Any = None,
        name: str | None = None,
    ) -> KTable[KIn, VIn]:
        """A topic read as a table: each record replaces the row of its key, a value of None removes it.

        A record without a key is dropped and counted. Rows are kept in a store only where someone needs them: when
        ``store`` is given, or an operator below looks rows up.

        >>> builder = StreamsBuilder()
        >>> builder.table("in").to_stream().to("out")
        >>> run(builder, ("a", 1), (None, 2), ("a", None))
        [('a', 1), ('a', None)]
        """
        check_topic_text(topic, "table")
        materialized = Materialized.of_table(store, key_serde, value_serde, caching, logging)
        materialized.named(self._graph, f"{topic}-")
        key_serde, value_serde = taken(key_serde, value_serde)
        consumed = Consumed(key_serde, value_serde, timestamp_extractor, offset_reset, name)
        source_name = suffixed_or_generate(name, names.TABLE_SOURCE_SUFFIX, self._graph, names.SOURCE)
        table_name = name_or_generate(name, self._graph, names.TABLE_SOURCE)
        source = TableSource(KeyValueMaterializer(materialized), materialized.queryable_name)
        node = TableSourceNode(table_name, source_name, topic, consumed, Step(table_name, source))
        node.output_versioned = materialized.is_versioned
        queryable = materialized.queryable_name
        return self._graph.add_table(self._graph.root, node, source, key_serde, value_serde, [source_name], queryable)

    @operator
    def global_table(
        self,
        topic: str,
        *,
        store: Any = None,
        key_serde: GivenSerde[KIn] | None = None,
        value_serde: GivenSerde[VIn] | None = None,
        caching: bool | None = None,
        timestamp_extractor: Any = None,
        name: str | None = None,
    ) -> GlobalKTable[KIn, VIn]:
        """A topic read as a table of which every instance holds all rows.

        The topic itself is the changelog of its store. Without ``store`` the store has a generated name under which
        it can be queried. It can be joined by any key and without repartitioning; its changes trigger nothing.

        >>> builder = StreamsBuilder()
        >>> cities = builder.global_table("cities")
        >>> users = builder.stream("users")
        >>> users.join(cities, lambda user, city: city, lambda city, name: name).to("out")
        >>> run(builder, ("cities", "ZG", "Zug"), ("users", "alice", "ZG"))
        [('alice', 'Zug')]
        """
        check_topic_text(topic, "global_table")
        materialized = Materialized.of_table(store, key_serde, value_serde, caching, logging=False)
        if materialized.is_versioned:
            raise TopologyError("a global table cannot be versioned", at=user_line())
        queryable = store is None and caching is None
        materialized.named(self._graph, f"{topic}-", force_queryable=queryable)
        key_serde, value_serde = taken(key_serde, value_serde)
        consumed = Consumed(key_serde, value_serde, timestamp_extractor, None, name)
        source_name = suffixed_or_generate(name, names.TABLE_SOURCE_SUFFIX, self._graph, names.SOURCE)
        table_name = name_or_generate(name, self._graph, names.TABLE_SOURCE)
        source = TableSource(KeyValueMaterializer(materialized), materialized.queryable_name)
        getters = source.view()
        step = Step(table_name, source)
        node = TableSourceNode(table_name, source_name, topic, consumed, step, is_global=True)
        self._graph.add_graph_node(self._graph.root, node)
        return GlobalKTable(getters, materialized.queryable_name)

    @operator
    def add_state_store(self, store: Any) -> StreamsBuilder:
        """Add a store that processors can then name in their ``stores=``. ``store`` is a builder from ``stores``.

        A store that no processor is connected to is never opened.

        >>> class Last(FixedKeyProcessor):
        ...     def process(self, record):
        ...         last = self.context.store("last").put_if_absent(record.key, record.value)
        ...         self.context.forward(record.with_value(last))
        >>> builder = StreamsBuilder().add_state_store(stores.key_value(stores.in_memory("last")))
        >>> builder.stream("in").process_values(Last, stores=["last"]).to("out")
        >>> run(builder, ("a", 1), ("a", 2))
        [('a', None), ('a', 1)]
        """
        _check_store(store)
        self._graph.add_graph_node(self._graph.root, StoreNode(store.name, store))
        return self

    @operator
    def add_global_store(
        self,
        store: Any,
        topic: str,
        supplier: Callable[[], Processor[KIn, VIn, Any, Any]],
        *,
        key_serde: GivenSerde[KIn] | None = None,
        value_serde: GivenSerde[VIn] | None = None,
        timestamp_extractor: Any = None,
        name: str | None = None,
    ) -> StreamsBuilder:
        """Add a store that every instance keeps in full; the supplier's processor fills it from all of ``topic``.

        Every processor can read it without being connected; only that one can write it. It is also run when the store
        is restored, so it must keep in the store what the topic says and nothing else.

        >>> class Keep(Processor):
        ...     def process(self, record):
        ...         self.context.store("prices").put(record.key, record.value)
        >>> prices = stores.key_value(stores.in_memory("prices"))
        >>> builder = StreamsBuilder().add_global_store(prices, "prices", Keep)
        >>> with TopologyTestDriver(builder.build()) as driver:
        ...     driver.create_input_topic("prices").pipe_input("tea", "3.20")
        ...     driver.key_value_store("prices").get("tea")
        '3.20'
        """
        _check_store(store)
        check_function(supplier, 0, operator="add_global_store", argument="supplier")
        store.with_logging_disabled()
        key_serde, value_serde = taken(key_serde, value_serde)
        consumed = Consumed(key_serde, value_serde, timestamp_extractor, None, name)
        source_name = suffixed_or_generate(name, names.TABLE_SOURCE_SUFFIX, self._graph, names.SOURCE)
        processor_name = name_or_generate(name, self._graph, names.TABLE_SOURCE)
        step = Step(processor_name, supplier)
        node = GlobalStoreNode(store.name, store, source_name, topic, consumed, step)
        self._graph.add_graph_node(self._graph.root, node)
        return self

    @operator
    def build(self, config: Mapping[str, Any] | None = None) -> Topology:
        """The topology. Only the ``topology.optimization`` of ``config`` is looked at here.

        Call it once, when the program is complete.

        >>> builder = StreamsBuilder()
        >>> builder.stream("in").to("out")
        >>> run(builder.build({"topology.optimization": "all"}), ("a", 1))
        [('a', 1)]
        """
        return self._graph.build(config)


def _topics(topics: str | Iterable[str]) -> tuple[str, ...]:
    names_given = tuple(topics) if isinstance(topics, Iterable) and not isinstance(topics, str) else (topics,)
    for topic in names_given:
        check_topic_text(topic, "stream")
    return names_given


def _check_store(store: Any) -> None:
    if not hasattr(store, "build"):
        message = f"{store!r} is not a store builder"
        raise OperatorTypeError(
            message, hint="Builders come from stores.key_value(...), stores.window(...) and so on.", at=user_line()
        )


def _topics_of(node: GraphNode) -> tuple[str, ...]:
    if isinstance(node, TableSourceNode):
        return (node.topic,)
    if isinstance(node, StreamSourceNode):
        return node.topics or (str(node.pattern),)
    return ()
