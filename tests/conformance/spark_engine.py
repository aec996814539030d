"""The engine on Spark as one that cases run on: a session for all of them, a query for each."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from headrace import Topology
from headrace.broker.port import Broker
from headrace.config import StreamsConfig
from headrace.spark.engine import SparkEngine
from headrace.spark.session import existing_session, open_session

_ROOT = str(Path(__file__).parents[2])


def on_spark(
    topology: Topology, settings: Mapping[str, Any], broker: Broker, *, clock: Callable[[], int]
) -> SparkEngine:
    """An engine in the session of this process. Its clock is that of the machine, whatever ``clock`` says."""
    session = existing_session()
    if session is None:
        # Workers import the functions of cases by name.
        os.environ["PYTHONPATH"] = os.pathsep.join([_ROOT, os.environ.get("PYTHONPATH", "")])
        session = open_session(StreamsConfig({"application.id": "conformance"}), threads=2)
    return SparkEngine(topology, settings, broker, session=session)
