"""Which names are legal: those that are also safe as a Kafka topic and as a directory."""

from __future__ import annotations

import re

from headrace.errors import ArgumentError, OperatorTypeError, TopologyError, user_line

MAX_NAME_LENGTH = 249
_LEGAL = re.compile(r"[A-Za-z0-9._-]+")
_PURPOSE = {
    "topic": "Brokers keep topics in directories of that name",
    "store": "It becomes a directory below state.dir and part of a topic's name",
    "operator or store": "It becomes a directory below state.dir and part of topic names",
}
_UNSAFE = re.compile(r"[/\\\x00-\x1f\x7f]")


def problem_with(name: object) -> str | None:
    """What is wrong with ``name``; None where it is legal.

    >>> problem_with("clicks"), problem_with("..")
    (None, "it cannot be '.' or '..'")
    """
    if not isinstance(name, str):
        return f"it must be text, not {name!r}"
    if not name:
        return "it cannot be empty"
    if name in {".", ".."}:
        return "it cannot be '.' or '..'"
    if len(name) > MAX_NAME_LENGTH:
        return f"it is longer than {MAX_NAME_LENGTH} characters"
    return None if _LEGAL.fullmatch(name) else "only ASCII letters, digits, '.', '_' and '-' may occur in it"


def check_legal(name: object, what: str, *, at: str | None = None) -> None:
    """Refuse a name that could not be the name of a topic or a directory."""
    problem = problem_with(name)
    if problem is not None:
        message = f"the {what} name {_shortened(name)} is illegal: {problem}"
        raise TopologyError(message, hint=f"{_PURPOSE[what]}: choose a plain one, such as 'my-name'.", at=at)


def check_name(name: object, what: str) -> None:
    """Refuse what a caller cannot call a topic, a group or an application of a broker."""
    problem = problem_with(name)
    if problem is not None:
        message = f"the {what} name {_shortened(name)} is illegal: {problem}"
        raise ArgumentError(message, hint="Choose a plain one, such as 'my-name'.")


def check_topic_text(topic: object, method: str) -> None:
    """Refuse a topic that is no text, where ``method`` takes it first."""
    if not isinstance(topic, str):
        message = f"{method}(): the name of a topic is text, not {topic!r}"
        hint = f'The topic comes first: {method}("topic", key_serde=..., value_serde=...).'
        raise OperatorTypeError(message, hint=hint, at=user_line())


def check_node_name(name: object, *, at: str | None = None) -> None:
    """Refuse what cannot name a node.

    Kafka Streams lets a hand-written node have almost any name, and derives node names from unchecked
    repartition names; only what could be taken for a path is refused here.
    """
    if not isinstance(name, str) or _UNSAFE.search(name) or name in {".", ".."}:
        message = f"{_shortened(name)} cannot be the name of a node"
        raise TopologyError(message, hint="Use letters, digits, '.', '_' and '-'.", at=at)


def _shortened(name: object) -> str:
    text = repr(name)
    return text if len(text) <= 80 else f"{text[:77]}..."
