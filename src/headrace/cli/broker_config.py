"""The settings with which commands talk to Kafka: a file of properties, such as Java's tools take."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headrace.broker import BrokerConfig
from headrace.broker.config import broker_settings
from headrace.cli.exits import UsageError

CONFIG_VARIABLE = "HEADRACE_BROKER_CONFIG"
"""The environment variable that names the file."""
_PATIENCE_MS = 20_000
"""How long somebody at a terminal waits for a broker that does not answer."""


def broker_config(address: str, settings: Mapping[str, Any] | None = None) -> BrokerConfig:
    """How to open the broker at ``address``: with what the file says, and before that with ``settings``."""
    chosen = {"admin.default.api.timeout.ms": _PATIENCE_MS, **file_settings(), **(settings or {})}
    return BrokerConfig(address, broker_settings(chosen))


def file_settings() -> dict[str, Any]:
    """What the file says of the broker's clients; nothing where none is named."""
    path = os.environ.get(CONFIG_VARIABLE)
    return broker_settings(properties(_text(Path(path)))) if path else {}


def properties(text: str) -> dict[str, str]:
    """Names and values as Java writes them.

    >>> properties("security.protocol=SASL_SSL" + chr(10) + "sasl.username : alice")
    {'security.protocol': 'SASL_SSL', 'sasl.username': 'alice'}
    """
    pairs = (_pair(line) for line in _lines(text))
    return {name.strip(): value.strip() for name, value in pairs}


def _pair(line: str) -> tuple[str, str]:
    marks = [place for mark in "=:" if (place := line.find(mark)) > 0]
    if not marks:
        # Not the line itself: it may be a secret.
        message = f"a line of the file that {CONFIG_VARIABLE} names is no setting"
        raise UsageError(message, hint="Write NAME=VALUE in each line.")
    return line[: min(marks)], line[min(marks) + 1 :]


def _lines(text: str) -> Iterator[str]:
    whole = ""
    for line in text.splitlines():
        stripped = line.strip()
        if not whole and (not stripped or stripped[0] in "#!"):
            continue
        whole += stripped.removesuffix("\\")
        if not stripped.endswith("\\"):
            yield whole
            whole = ""
    if whole:
        yield whole


def _text(path: Path) -> str:
    try:
        return path.expanduser().read_text()
    except (OSError, UnicodeDecodeError) as error:
        message = f"the file that {CONFIG_VARIABLE} names cannot be read: {path}"
        raise UsageError(message, detail=getattr(error, "strerror", None) or str(error)) from error
