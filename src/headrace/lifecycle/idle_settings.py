"""Tells which of the given settings have no effect here."""

from __future__ import annotations

import logging

from headrace.config import StreamsConfig
from headrace.settings import WITHOUT_EFFECT

log = logging.getLogger(__name__)


def warn_of_idle_settings(config: StreamsConfig) -> None:
    idle = [f"{name} ({WITHOUT_EFFECT[name]})" for name in config.originals if name in WITHOUT_EFFECT]
    if idle:
        log.warning("these settings have no effect here: %s", ", ".join(idle))
