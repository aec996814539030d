"""BranchedKStream: a stream on its way into several."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic

from headrace.dsl.operator import check_function, operator
from headrace.errors import ArgumentError, user_line
from headrace.guesses import Face
from headrace.plan import names
from headrace.plan.graph import ProcessorGraphNode, Step
from headrace.plan.names import name_or_generate
from headrace.processors.branch import Branch
from headrace.processors.pass_through import PassThrough
from headrace.type_variables import K, V

if TYPE_CHECKING:
    from headrace.dsl.kstream import KStream


class BranchedKStream(Face, Generic[K, V]):
    """What ``KStream.split`` returns: add branches, then end with ``default_branch`` or ``no_default_branch``.

    The streams come back in a dict. A branch's key in it is the name of the split and its own name; without a name
    its number, counted from 1, and 0 for the default branch.
    """

    def __init__(self, source: KStream[K, V], name: str | None) -> None:
        self._source = source
        self._name = name_or_generate(name, source.builder, names.BRANCH)
        self._branch = Branch()
        self._node = ProcessorGraphNode(self._name, Step(self._name, self._branch))
        self._streams: dict[str, KStream[K, V]] = {}
        source.builder.add_graph_node(source.node, self._node)

    def __repr__(self) -> str:
        return f"<BranchedKStream {self._name}: branches {', '.join(self._streams) or 'none yet'}>"

    @operator
    def branch(
        self,
        predicate: Callable[[K, V], object],
        *,
        name: str | None = None,
        function: Callable[[KStream[K, V]], KStream[K, V] | None] | None = None,
        consumer: Callable[[KStream[K, V]], object] | None = None,
    ) -> BranchedKStream[K, V]:
        """Add a branch for the records for which ``predicate(key, value)`` holds and no branch before wanted.

        With ``function`` the dict holds what ``function(stream)`` returns, nothing where that is None; with
        ``consumer`` the stream goes to ``consumer(stream)`` and is not in the dict.

        >>> builder = StreamsBuilder()
        >>> split = builder.stream("in").split()
        >>> split = split.branch(lambda key, n: n > 9, consumer=lambda many: many.to("out"))
        >>> streams = split.branch(lambda key, n: n > 5, name="some").no_default_branch()
        >>> run(builder, ("a", 7), ("b", 12))
        [('b', 12)]
        """
        check_function(predicate, 2, operator="branch", argument="predicate")
        self._branch.predicates.append(predicate)
        self._add(len(self._branch.predicates), name, function, consumer)
        return self

    @operator
    def default_branch(
        self,
        *,
        name: str | None = None,
        function: Callable[[KStream[K, V]], KStream[K, V] | None] | None = None,
        consumer: Callable[[KStream[K, V]], object] | None = None,
    ) -> dict[str, KStream[K, V]]:
        """End with a branch for the records that no other branch wanted; all streams, by name.

        >>> builder = StreamsBuilder()
        >>> split = builder.stream("in").split(name="is-").branch(lambda key, n: n > 9, name="big")
        >>> split.default_branch(name="small")["is-small"].to("out")
        >>> run(builder, ("a", 7), ("b", 12))
        [('a', 7)]
        """
        self._add(0, name, function, consumer)
        return self._streams

    def no_default_branch(self) -> dict[str, KStream[K, V]]:
        """End; records that no branch wants go nowhere and are not counted as dropped. All streams, by name.

        >>> split = StreamsBuilder().stream("in").split(name="is-")
        >>> list(split.branch(lambda key, n: n > 9, name="big").no_default_branch())
        ['is-big']
        """
        return self._streams

    def _add(
        self,
        number: int,
        name: str | None,
        function: Callable[[KStream[K, V]], KStream[K, V] | None] | None,
        consumer: Callable[[KStream[K, V]], object] | None,
    ) -> None:
        if function is not None and consumer is not None:
            raise ArgumentError("a branch takes a function or a consumer, not both", at=user_line())
        branch_name = f"{self._name}{number if name is None else name}"
        stream = self._new_stream(branch_name)
        if function is not None:
            changed = function(stream)
            if changed is not None:
                self._streams[branch_name] = changed
        elif consumer is not None:
            consumer(stream)
        else:
            self._streams[branch_name] = stream

    def _new_stream(self, branch_name: str) -> KStream[K, V]:
        source = self._source
        self._branch.children.append(branch_name)
        # The drawn name is not used: as in Kafka Streams a branch takes a number of the common count all the same.
        source.builder.new_processor_name(branch_name)
        node = ProcessorGraphNode(branch_name, Step(branch_name, PassThrough()))
        return source.builder.add_stream(
            self._node,
            node,
            source.key_serde,
            source.value_serde,
            source.sources,
            repartition_required=source.repartition_required,
        )
