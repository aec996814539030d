"""What must hold when something is added to a topology; each check raises at the user's line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from headrace.errors import ArgumentError, OperatorTypeError, TopologyError
from headrace.functions import check_function, refuse_async, signature_of, takes, where
from headrace.names import check_legal, check_node_name
from headrace.topology.nodes import SinkNode, TopologyGraph

_OFFSET_RESETS = ("earliest", "latest", "none")
_READ_ONCE = (
    "Read it once, and use that stream or table in both places; to_table() and to_stream() make the other of it."
)


def new_name(graph: TopologyGraph, name: str, at: str | None) -> None:
    check_node_name(name, at=at)
    if name in graph.nodes:
        message = f"a node called {name!r} is already added"
        raise TopologyError(message, detail=f"first added at {graph.nodes[name].built_at}", at=at)


def known_parents(graph: TopologyGraph, name: str, parents: str | Iterable[str], at: str | None) -> tuple[str, ...]:
    """Parents must exist and be no sinks; their names as a tuple."""
    names = as_names(parents)
    if not names:
        message = f"the node {name!r} has no parent"
        raise TopologyError(message, hint="Name the nodes it gets records from in parents=.", at=at)
    for parent in names:
        if parent not in graph.nodes:
            reference = " (itself)" if parent == name else ""
            message = f"the parent {parent!r}{reference} of {name!r} is unknown"
            raise TopologyError(message, hint="Add parents before their children.", at=at)
        if isinstance(graph.nodes[parent], SinkNode):
            message = f"the sink {parent!r} cannot be a parent"
            raise TopologyError(message, at=at)
    return names


def as_names(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def legal_topic(graph: TopologyGraph, topic: str, at: str | None) -> None:
    """A topic of the user needs a legal name. Internal ones are checked when they are to be created."""
    if topic not in graph.internal_topics:
        check_legal(topic, "topic", at=at)


def unread_topics(graph: TopologyGraph, topics: Iterable[str], at: str | None) -> None:
    """No topic may be read by two sources, or twice by one."""
    read = {topic for source in graph.sources() for topic in source.topics}
    patterns = [source.pattern for source in graph.sources() if source.pattern is not None]
    for topic in topics:
        if topic in read:
            message = f"the topic {topic!r} is already read by another source"
            raise TopologyError(message, hint=_READ_ONCE, at=at)
        if any(pattern.fullmatch(topic) for pattern in patterns):
            message = f"the topic {topic!r} matches the pattern of another source"
            raise TopologyError(message, at=at)
        read.add(topic)


def compiled_pattern(graph: TopologyGraph, pattern: str | re.Pattern[str], at: str | None) -> re.Pattern[str]:
    """A pattern must be a regular expression and match no topic that is read by name."""
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        message = f"{pattern!r} is not a pattern for topics: {error}"
        raise ArgumentError(message, at=at) from None
    for source in graph.sources():
        for topic in source.topics:
            if topic not in graph.global_topics and compiled.fullmatch(topic):
                message = f"the pattern {compiled.pattern!r} matches the topic {topic!r}, which another source reads"
                raise TopologyError(message, at=at)
    return compiled


def fresh_processors(name: str, supplier: Any, at: str | None) -> None:
    """A supplier must give a new processor at each call, and one that can be called as processors are."""
    if not callable(supplier):
        message = f"the supplier of {name!r} must be a class or a function without arguments, not {supplier!r}"
        raise OperatorTypeError(message, hint="Pass the processor's class, not an instance of it.", at=at)
    refuse_async(f"the supplier of {name!r}", supplier, at)
    processor = supplier()
    if processor is supplier():
        message = f"the supplier of {name!r} gives the same processor at each call"
        raise ArgumentError(
            message, hint="Each task needs its own: pass the class, or a function that makes a new one.", at=at
        )
    for method in ("init", "process", "close"):
        refuse_async(f"{method}() of the processor {name!r}", getattr(processor, method, None), at)
    _takes_a_record(name, getattr(processor, "process", None), at)


def callback(what: str, function: Any, arity: int, at: str | None) -> None:
    """A partitioner, an extractor: a plain function of so many arguments, where there is one."""
    if function is not None:
        check_function(what, function, arity, at)


def _takes_a_record(name: str, process: Any, at: str | None) -> None:
    signature = signature_of(process)
    if signature is None or takes(signature, 1):
        return
    message = f"process() of the processor {name!r} is called with 1 argument, a record, but takes {signature}"
    raise OperatorTypeError(
        message,
        detail=f"function {where(process)}",
        hint="Let it be process(self, record): record.key, record.value and record.timestamp are there.",
        at=at,
    )


def store_name(builder: Any, at: str | None) -> str:
    """The name of a store to be must be legal: it becomes a directory and part of a topic."""
    name = getattr(builder, "name", None)
    if not hasattr(builder, "configured"):
        message = f"{builder!r} is not a store builder"
        raise ArgumentError(message, hint="Builders come from stores.key_value(...), stores.window(...), ...", at=at)
    check_legal(name, "store", at=at)
    return str(name)


def offset_reset(given: Any, at: str | None) -> None:
    """Where to start without a committed offset: earliest, latest, none, or a duration before now."""
    if given is None or (isinstance(given, timedelta) and given >= timedelta(0)):
        return
    text = given.lower() if isinstance(given, str) else ""
    if text not in _OFFSET_RESETS and not text.startswith(("by_duration:p", "p")):
        message = f"{given!r} is no offset reset"
        raise ArgumentError(message, hint="Use 'earliest', 'latest', 'none', or a timedelta back from now.", at=at)
