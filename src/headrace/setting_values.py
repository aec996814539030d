"""What a setting may be: functions ``(name, given)`` that give its value in its own type or raise ConfigError."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

from headrace.durations import to_ms
from headrace.errors import ConfigError
from headrace.functions import is_async

Parse: TypeAlias = Callable[[str, Any], Any]
"""``(name, given)``: the value in its own type, or ConfigError."""

_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}", re.ASCII)

OPTIMIZATIONS = frozenset({"reuse.ktable.source.topics", "merge.repartition.topics", "single.store.self.join"})


def refuse(name: str, given: Any, expected: str) -> ConfigError:
    """The error of a setting that cannot be ``given``. Secrets are not shown."""
    shown = "a secret" if is_secret(name) else repr(given)
    message = f"{name} must be {expected}, found {shown}"
    return ConfigError(message)


def is_secret(name: str) -> bool:
    return (
        re.search(r"secret|password|token|credential|jaas|access[._]?key|private[._]?key|ssl\.key", name, re.IGNORECASE)
        is not None
    )


def legal_name(name: str, given: Any) -> str:
    """A name as Kafka's topics have them: it becomes part of topic names and a directory, and must stay inside it."""
    if isinstance(given, str) and _NAME.fullmatch(given) and given not in (".", ".."):
        return given
    error = refuse(name, given, "a name of 1 to 249 characters from a-z A-Z 0-9 . _ -, and neither '.' nor '..'")
    error.hint = "It becomes part of topic names and a directory: choose a plain one, such as 'my-app'."
    raise error


def number(low: int | None = None, high: int | None = None) -> Parse:
    """Whole numbers, also as text; milliseconds may be a timedelta."""

    def parse(name: str, given: Any) -> int:
        value = _whole(name, given)
        if value is None or (low is not None and value < low) or (high is not None and value > high):
            raise refuse(name, given, _range_text(low, high))
        return value

    return parse


def _whole(name: str, given: Any) -> int | None:
    if isinstance(given, timedelta) and name.endswith(".ms"):
        return to_ms(given, name)
    if isinstance(given, str):
        text = given.strip()
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,19}", text, re.ASCII) else None
    return given if isinstance(given, int) and not isinstance(given, bool) else None


def _range_text(low: int | None, high: int | None) -> str:
    if low is None:
        return "a whole number"
    return f"a whole number of {low} or more" if high is None else f"a whole number from {low} to {high}"


def boolean(name: str, given: Any) -> bool:
    value = {"true": True, "false": False}.get(given.strip().lower()) if isinstance(given, str) else given
    if isinstance(value, bool):
        return value
    raise refuse(name, given, "true or false")


def choice(*options: str, any_case: bool = False) -> Parse:
    """One of ``options``."""

    def parse(name: str, given: Any) -> str:
        for option in options:
            if given == option or (any_case and isinstance(given, str) and given.upper() == option.upper()):
                return option
        raise refuse(name, given, " or ".join(map(repr, options)))

    return parse


def text(name: str, given: Any) -> str:
    if isinstance(given, str):
        return given
    raise refuse(name, given, "text")


def texts(name: str, given: Any) -> tuple[str, ...]:
    """Several texts: a list, or one text with commas."""
    parts = [part.strip() for part in given.split(",")] if isinstance(given, str) else given
    if isinstance(parts, list | tuple) and all(isinstance(part, str) for part in parts):
        return tuple(part for part in parts if part)
    raise refuse(name, given, "a list of texts, or one text with commas")


def servers(name: str, given: Any) -> str:
    """``host:port`` of one or more brokers, or ``embedded:directory``."""
    addresses = texts(name, given)
    if not addresses:
        raise refuse(name, given, "the address of at least one broker, or 'embedded:directory'")
    return ",".join(addresses)


def path(name: str, given: Any) -> Path:
    if isinstance(given, Path) or (isinstance(given, str) and given and "\0" not in given):
        return Path(given).expanduser()
    raise refuse(name, given, "a path")


def tags(name: str, given: Any) -> tuple[str, ...]:
    """Names of client tags: at most 5, each of at most 20 characters."""
    names = texts(name, given)
    if len(names) > 5 or any(len(tag) > 20 for tag in names):
        raise refuse(name, given, "at most 5 tags of at most 20 characters")
    return names


def replicas(name: str, given: Any) -> int:
    """A replication factor: 1 or more, or -1 for the broker's default."""
    value = _whole(name, given)
    if value is None or value < -1 or value == 0:
        raise refuse(name, given, "1 or more, or -1 for the broker's default")
    return value


def as_given(name: str, given: Any) -> Any:
    """An object, a class or a short name; it is checked where it is used."""
    if given is None:
        raise refuse(name, given, "an object, a class or a name")
    if is_async(getattr(given, "handle", given)):
        raise refuse(name, given, "a plain function, because an async one is not awaited")
    return given


def optimizations(name: str, given: Any) -> str:
    """``none``, ``all``, or a list of optimisations with commas."""
    topology_optimizations(given)
    return str(given)


def topology_optimizations(given: Any) -> frozenset[str]:
    """The optimisations that a value of ``topology.optimization`` stands for.

    >>> sorted(topology_optimizations("merge.repartition.topics, single.store.self.join"))
    ['merge.repartition.topics', 'single.store.self.join']
    """
    name = "topology.optimization"
    wanted = re.split(r"\s*,\s*", given) if isinstance(given, str) else [given]
    if wanted == ["none"]:
        return frozenset()
    if wanted == ["all"]:
        return OPTIMIZATIONS
    if not OPTIMIZATIONS.issuperset(wanted):
        listed = ", ".join(sorted(OPTIMIZATIONS))
        error = refuse(name, given, f"'none', 'all', or a list with commas of: {listed}")
        error.hint = "'none' and 'all' stand alone."
        raise error
    return frozenset(wanted)
