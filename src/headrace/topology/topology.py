"""The topology: sources, processors, sinks and stores, added by hand (Processor API) or by the DSL.

A topology is data. ``describe()`` shows it; an engine runs the plan that ``configured`` makes of it.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NoReturn

from headrace.config import StreamsConfig
from headrace.errors import ArgumentError, OperatorTypeError, TopologyError, user_line
from headrace.guesses import Face
from headrace.processors.api import provided_stores
from headrace.serde.given import given_serde
from headrace.timestamps import fail_on_invalid_timestamp
from headrace.topology import checks, drawing, pictures
from headrace.topology.describe import TopologyDescription, describe
from headrace.topology.nodes import Copartition, ProcessorNode, SinkNode, SourceNode, TopologyGraph
from headrace.topology.topology_plan import TopologyPlan, topology_plan

_log = logging.getLogger(__name__)


class Topology(Face):
    """A graph of sources, processors and sinks. All ``add_`` methods return the topology itself.

    What cannot be built (a name taken twice, a parent that is not there) is a TopologyError with the line of the
    program.

    >>> topology = Topology().add_source("in", ["events"]).add_sink("out", "copy", parents="in")
    >>> print(str(topology.describe()).strip())
    Topologies:
       Sub-topology: 0
        Source: in (topics: [events])
          --> out
        Sink: out (topic: copy)
          <-- in
    """

    _internal = frozenset(
        {
            "add_internal_topic",
            "add_repartition_source",
            "check_implicit_names",
            "config",
            "configured",
            "connect_source_store_and_topic",
            "copartition_sources",
            "graph",
            "history_retention_ms",
            "note_implicit_names",
            "replace_copartition_source",
            "validate_copartition",
            "written_at",
        }
    )

    def __init__(self, config: StreamsConfig | Mapping[str, Any] | None = None) -> None:
        self.config = None if config is None else StreamsConfig(config)
        """What the topology is built with (Java: TopologyConfig); what it runs with comes with ``configured``."""
        self.graph = TopologyGraph()
        self._implicit_names: dict[str, list[str]] = {"changelog topic": [], "state store": [], "repartition topic": []}
        self._line: str | None = None

    # -- the Processor API

    def add_source(
        self,
        name: str,
        topics: str | Iterable[str] | None = None,
        *,
        pattern: str | re.Pattern[str] | None = None,
        key_serde: Any = None,
        value_serde: Any = None,
        timestamp_extractor: Any = None,
        offset_reset: Any = None,
    ) -> Topology:
        """Read ``topics``, or all that match ``pattern`` in full.

        A topic can be read by one source only. The serdes are the configured defaults where none is given.

        >>> Topology().add_source("in", ["web", "app"]).graph.nodes["in"].topics
        ('web', 'app')
        """
        at, graph = self._here, self.graph
        checks.new_name(graph, name, at)
        names = checks.as_names(topics or ())
        checks.offset_reset(offset_reset, at)
        checks.callback(f"the timestamp_extractor of {name!r}", timestamp_extractor, 2, at)
        if pattern is not None:
            if names:
                self._refuse(f"the source {name!r} has both topics and a pattern")
            pattern = checks.compiled_pattern(graph, pattern, at)
        elif not names:
            self._refuse(f"the source {name!r} has no topics")
        for topic in names:
            checks.legal_topic(graph, topic, at)
        checks.unread_topics(graph, names, at)
        graph.nodes[name] = SourceNode(
            name, names, pattern, *_serdes(key_serde, value_serde), timestamp_extractor, offset_reset, at
        )
        return self

    def add_processor(self, name: str, supplier: Callable[[], Any], parents: str | Iterable[str]) -> Topology:
        """Run a processor below ``parents``; stores that the supplier carries are added and connected.

        The supplier, a class or a function without arguments, gives a new processor for each task; one that gives the
        same object twice is refused.

        >>> class Upper(Processor):
        ...     def process(self, record):
        ...         self.context.forward(record.with_value(record.value.upper()))
        >>> topology = Topology().add_source("source", "in").add_processor("upper", Upper, parents="source")
        >>> run(topology.add_sink("sink", "out", parents="upper"), ("a", "x"))
        [('a', 'X')]
        """
        checks.fresh_processors(name, supplier, self._here)
        supplier = self._wrapped(name, supplier)
        self._add_processor(name, supplier, parents)
        for builder in provided_stores(supplier):
            self.add_state_store(builder, name)
        return self

    def add_sink(
        self,
        name: str,
        topic: str | Callable[..., str],
        parents: str | Iterable[str],
        *,
        key_serde: Any = None,
        value_serde: Any = None,
        partitioner: Any = None,
    ) -> Topology:
        """Write to ``topic``: a name, or a function ``(key, value, context)`` that gives one for each record.

        >>> topology = Topology().add_source("source", "in")
        >>> run(topology.add_sink("sink", lambda key, value, context: "out", parents="source"), ("a", 1))
        [('a', 1)]
        """
        at, graph = self._here, self.graph
        checks.new_name(graph, name, at)
        if isinstance(topic, str):
            checks.legal_topic(graph, topic, at)
        elif not callable(topic):
            message = f"the sink {name!r} needs a topic or a function that names one, not {topic!r}"
            raise ArgumentError(message, at=at)
        else:
            checks.callback(f"the function that names the topic of {name!r}", topic, 3, at)
        checks.callback(f"the partitioner of {name!r}", partitioner, 4, at)
        names = checks.known_parents(graph, name, parents, at)
        static, extractor = (topic, None) if isinstance(topic, str) else (None, topic)
        graph.nodes[name] = SinkNode(name, names, static, extractor, *_serdes(key_serde, value_serde), partitioner, at)
        return self

    def add_state_store(self, builder: Any, processors: str | Iterable[str] = ()) -> Topology:
        """Add a store and connect it to ``processors``. Another store of the same name is a TopologyError.

        >>> topology = Topology().add_source("in", "events").add_processor("dedup", Processor, parents="in")
        >>> seen = stores.key_value(stores.in_memory("seen"))
        >>> print(str(topology.add_state_store(seen, processors="dedup").describe()).splitlines()[4].strip())
        Processor: dedup (stores: [seen])
        """
        name = checks.store_name(builder, self._here)
        known = self.graph.stores.get(name)
        if known is not None and known is not builder and not known.is_compatible_with(builder):
            hint = "Give one of the two another name."
            self._refuse(f"a different store has already been added with the name {name!r}", hint=hint)
        if name in self.graph.global_stores:
            self._refuse(f"a different global store has already been added with the name {name!r}")
        self.graph.stores[name] = builder
        for processor in checks.as_names(processors):
            self._connect(processor, name)
        return self

    def connect_processor_and_state_stores(self, processor: str, *stores: str) -> Topology:
        """Let ``processor`` use ``stores``, which are there already. Who shares a store shares a sub-topology.

        >>> topology = Topology().add_source("in", "events").add_processor("dedup", Processor, parents="in")
        >>> topology = topology.add_state_store(stores.key_value(stores.in_memory("seen")))
        >>> topology.connect_processor_and_state_stores("dedup", "seen").graph.stores_of
        {'dedup': {'seen': None}}
        """
        if not stores:
            self._refuse(f"no store was given to connect to {processor!r}")
        if isinstance(self.graph.nodes.get(processor), SourceNode | SinkNode):
            self._refuse(f"{processor!r} is a source or a sink: it cannot use stores")
        for store in stores:
            self._connect(processor, store)
        return self

    def add_global_store(
        self,
        builder: Any,
        source_name: str,
        topic: str,
        processor_name: str,
        supplier: Callable[[], Any],
        *,
        key_serde: Any = None,
        value_serde: Any = None,
        timestamp_extractor: Any = None,
        reprocess_on_restore: bool = True,
    ) -> Topology:
        """Add a store that every instance keeps in full, filled from all of ``topic`` by the supplier's processor.

        With ``reprocess_on_restore`` off, restoring copies the topic into the store without running the processor.

        >>> class Keep(Processor):
        ...     def process(self, record):
        ...         self.context.store("prices").put(record.key, record.value)
        >>> prices = stores.key_value(stores.in_memory("prices"))
        >>> topology = Topology().add_global_store(prices, "source", "prices", "keep", Keep)
        >>> print(str(topology.describe()).splitlines()[1].strip())
        Sub-topology: 0 for global store (will not generate tasks)
        """
        at, graph = self._here, self.graph
        checks.new_name(graph, source_name, at)
        checks.legal_topic(graph, topic, at)
        checks.unread_topics(graph, (topic,), at)
        checks.new_name(graph, processor_name, at)
        if source_name == processor_name:
            self._refuse(f"source and processor of a global store need different names, not both {source_name!r}")
        checks.fresh_processors(processor_name, supplier, at)
        checks.callback(f"the timestamp_extractor of {source_name!r}", timestamp_extractor, 2, at)
        store = checks.store_name(builder, at)
        if store in graph.stores or store in graph.global_stores:
            self._refuse(f"a different store has already been added with the name {store!r}")
        graph.global_topics.add(topic)
        graph.nodes[source_name] = SourceNode(
            source_name, (topic,), None, *_serdes(key_serde, value_serde), timestamp_extractor, None, at
        )
        graph.nodes[processor_name] = ProcessorNode(processor_name, (source_name,), supplier, at)
        graph.stores_of[processor_name] = {store: None}
        graph.global_stores[store] = builder.with_logging_disabled()
        graph.source_changelogs[store] = topic
        graph.reprocess_on_restore[store] = reprocess_on_restore
        return self

    def add_read_only_state_store(
        self,
        builder: Any,
        source_name: str,
        topic: str,
        processor_name: str,
        supplier: Callable[[], Any],
        *,
        key_serde: Any = None,
        value_serde: Any = None,
        timestamp_extractor: Any = None,
    ) -> Topology:
        """Add a store that only the supplier's processor fills, from ``topic``, which is its changelog too.

        The processor must put each record as it came: a restart restores the topic, not what the processor made of it.

        >>> rows = stores.key_value(stores.in_memory("rows"))
        >>> topology = Topology().add_read_only_state_store(rows, "source", "rows", "keep", Processor)
        >>> topology.graph.source_changelogs
        {'rows': 'rows'}
        """
        self.add_source(
            source_name,
            topic,
            key_serde=key_serde,
            value_serde=value_serde,
            timestamp_extractor=timestamp_extractor,
            offset_reset="earliest",
        )
        checks.fresh_processors(processor_name, supplier, self._here)
        self._add_processor(processor_name, supplier, source_name)
        self.add_state_store(builder, processor_name)
        self.connect_source_store_and_topic(builder.name, topic)
        return self

    # -- what the topology looks like

    def describe(self) -> TopologyDescription:
        """The topology as text (``str()`` of the result), in the very words of Kafka Streams.

        >>> print(Topology().add_source("in", "events").describe())
        Topologies:
           Sub-topology: 0
            Source: in (topics: [events])
              --> none
        <BLANKLINE>
        <BLANKLINE>
        """
        return describe(self.graph)

    def to_mermaid(self) -> str:
        """The topology as a Mermaid flowchart.

        >>> Topology().add_source("in", "events").to_mermaid().splitlines()[0]
        'flowchart TD'
        """
        return pictures.to_mermaid(self.graph)

    def to_dot(self) -> str:
        """The topology in the language of Graphviz.

        >>> Topology().add_source("in", "events").to_dot().splitlines()[0]
        'digraph topology {'
        """
        return pictures.to_dot(self.graph)

    def to_json(self) -> str:
        """The topology as JSON: sub-topologies, nodes, edges, stores.

        >>> Topology().add_source("in", "events").to_json().split()[1]
        '"subtopologies":'
        """
        return pictures.to_json(self.graph)

    def __repr__(self) -> str:
        return f"<Topology: {pictures.summary(self.graph)}>"

    def _repr_html_(self) -> str:
        return drawing.to_html(self.graph)

    # -- what only the plan calls

    def add_internal_topic(self, name: str, partitions: int | None) -> None:
        """Make ``name`` a repartition topic; its full name will carry the application's prefix."""
        self.graph.internal_topics[name] = partitions

    def add_repartition_source(self, name: str, topic: str, *, key_serde: Any, value_serde: Any) -> None:
        """Read a repartition topic. Its timestamps are taken as they are, whichever extractor is configured."""
        self.add_source(
            name, topic, key_serde=key_serde, value_serde=value_serde, timestamp_extractor=fail_on_invalid_timestamp
        )

    def connect_source_store_and_topic(self, store: str, topic: str) -> None:
        """Let the source topic be the changelog of ``store``, which then writes none of its own."""
        if store in self.graph.source_changelogs:
            self._refuse(f"the store {store!r} already has a source topic as its changelog")
        self.graph.stores[store].with_logging_disabled()
        self.graph.source_changelogs[store] = topic

    def copartition_sources(self, names: Iterable[str]) -> None:
        """Demand that the topics of these source nodes have the same number of partitions."""
        self.graph.copartitioned.append(Copartition(set(names), user_line()))

    def replace_copartition_source(self, old: str, new: str) -> None:
        """Source ``new`` stands for ``old`` in all demands."""
        for demand in self.graph.copartitioned:
            if old in demand.sources:
                demand.sources.remove(old)
                demand.sources.add(new)

    def history_retention_ms(self, store: str) -> int | None:
        """How much history a versioned store keeps; None for another store."""
        builder = self.graph.stores[store]
        return int(builder.history_ms) if builder.is_versioned_store else None

    def validate_copartition(self) -> None:
        """Refuse co-partitioned repartition topics that were given different numbers of partitions."""
        for demand in self.graph.copartitioned:
            nodes = (self.graph.nodes.get(name) for name in demand.sources)
            topics = {topic for node in nodes if isinstance(node, SourceNode) for topic in node.topics}
            counts = {topic: self.graph.internal_topics.get(topic) for topic in sorted(topics)}
            if None not in counts.values() and len(set(counts.values())) > 1:
                detail = ", ".join(f"{topic}: {count}" for topic, count in counts.items())
                self._refuse("joined topics must have the same number of partitions", detail=detail)

    def note_implicit_names(
        self, *, store: str | None = None, changelog_topic: str | None = None, repartition_topic: str | None = None
    ) -> None:
        """Remember names that were generated because the user gave none."""
        given = {"changelog topic": changelog_topic, "state store": store, "repartition topic": repartition_topic}
        for what, name in given.items():
            if name:
                self._implicit_names[what].append(name)

    def check_implicit_names(self) -> None:
        """Refuse generated names if the topology was built with ``ensure.explicit.internal.resource.naming``."""
        detail = "; ".join(f"{what}: {', '.join(names)}" for what, names in self._implicit_names.items() if names)
        if not detail:
            return
        if self.config is not None and self.config["ensure.explicit.internal.resource.naming"]:
            self._refuse(
                "internal resources were not named",
                detail=detail,
                hint="Give these operators name= and store=, or leave ensure.explicit.internal.resource.naming off.",
            )
        _log.info("names were generated for %s: they change when operators are added before them", detail)

    @contextlib.contextmanager
    def written_at(self, line: str | None) -> Iterator[None]:
        """While the plan writes a node: it and its errors belong to the line where the user made it."""
        before, self._line = self._line, line
        try:
            yield
        finally:
            self._line = before

    # -- what engines call

    def configured(self, config: StreamsConfig | Mapping[str, Any]) -> TopologyPlan:
        """What runs under ``config``: topics with their prefix, stores of their kinds, cached where there is a cache.

        The topology stays as it is, and can be configured again.
        """
        return topology_plan(self.graph, StreamsConfig(config))

    # -- inner parts

    def _add_processor(self, name: str, supplier: Any, parents: str | Iterable[str]) -> None:
        at = self._here
        checks.new_name(self.graph, name, at)
        names = checks.known_parents(self.graph, name, parents, at)
        self.graph.nodes[name] = ProcessorNode(name, names, supplier, at)

    def _wrapped(self, name: str, supplier: Any) -> Any:
        """The supplier as the configured ``processor.wrapper.class`` gives it back (KIP-1112)."""
        wrapper = None if self.config is None else self.config["processor.wrapper.class"]
        if wrapper is None:
            return supplier
        wrapper = wrapper() if isinstance(wrapper, type) else wrapper
        return wrapper.wrap_processor_supplier(name, supplier)

    def _connect(self, processor: str, store: str) -> None:
        graph = self.graph
        if store in graph.global_stores:
            self._refuse(f"the global store {store!r} is open to all processors: it is not connected to any")
        if store not in graph.stores:
            self._refuse(f"the store {store!r} is not added yet", hint="Add it with add_state_store() first.")
        if processor not in graph.nodes:
            self._refuse(f"the processor {processor!r} is not added yet")
        if not isinstance(graph.nodes[processor], ProcessorNode):
            self._refuse(f"{processor!r} is a source or a sink: it cannot use the store {store!r}")
        graph.users_of.setdefault(store, {})[processor] = None
        graph.stores_of.setdefault(processor, {})[store] = None

    @property
    def _here(self) -> str | None:
        return self._line or user_line()

    def _refuse(self, message: str, *, detail: str | None = None, hint: str | None = None) -> NoReturn:
        raise TopologyError(message, detail=detail, hint=hint, at=self._here)


def _serdes(key_serde: Any, value_serde: Any) -> tuple[Any, Any]:
    return given_serde("key_serde", key_serde), given_serde("value_serde", value_serde)


def check_topology(given: Any, taker: str) -> None:
    """Refuse what is no topology, above all a builder that was not built."""
    if not isinstance(given, Topology):
        message = f"{taker} takes a topology, found {type(given).__name__}"
        if isinstance(given, (Mapping, StreamsConfig)):
            hint = f"The topology comes first: {taker}(topology, config)."
        else:
            hint = f"Build it first: {taker}(builder.build(), config)."
        raise OperatorTypeError(message, hint=hint, at=user_line())
