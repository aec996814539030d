"""Which application a program is: its topology, its settings, and the broker it talks to.

The settings are the program's variable ``config``, a dict with Kafka's names. Without an ``application.id`` there, the
name of the file is taken.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.broker import DEFAULT_BROKER
from headrace.broker.config import broker_settings
from headrace.broker.port import Broker
from headrace.cli.assignments import settings_of
from headrace.cli.exits import UsageError
from headrace.cli.program import load_topology
from headrace.cli.session import Session
from headrace.commands import PROGRAM_MODULE
from headrace.config import StreamsConfig
from headrace.topology import Topology

_NAMES = ("config", "CONFIG", "settings")


@dataclass(frozen=True, slots=True)
class ProgramApplication:
    topology: Topology
    config: StreamsConfig
    session: Session

    @property
    def address(self) -> str:
        """Of the broker: the one the command line names, else the program's."""
        address = self.config.originals.get("bootstrap.servers")
        is_asked_for = address is None or self.session.address != DEFAULT_BROKER
        return self.session.address if is_asked_for else str(address)

    @contextmanager
    def broker(self) -> Iterator[Broker]:
        """The broker, open until the end of the block."""
        settings = broker_settings(self.config.originals)
        with Session(self.address, self.session.out, settings).broker() as broker:
            yield broker


def load_application(session: Session, program: str, given: Iterable[str] = ()) -> ProgramApplication:
    """Run ``FILE.py`` (or ``FILE.py:NAME``) up to the point where its topology and settings are there.

    What is ``given`` as ``NAME=VALUE`` goes before the program's own settings.
    """
    topology = load_topology(program)
    settings = {**_settings(), **settings_of(given)}
    settings.setdefault("application.id", _stem(program))
    return ProgramApplication(topology, StreamsConfig(settings), session)


def _settings() -> dict[str, Any]:
    module = sys.modules[PROGRAM_MODULE]
    found: Any = next((getattr(module, name) for name in _NAMES if hasattr(module, name)), {})
    if isinstance(found, StreamsConfig):
        return dict(found.originals)
    if isinstance(found, Mapping):
        return dict(found)
    message = "the config of the program is no dict"
    raise UsageError(message, detail=f"It is of the type {type(found).__name__}.")


def _stem(program: str) -> str:
    path = Path(program)
    return path.stem if path.exists() else Path(program.rpartition(":")[0]).stem
