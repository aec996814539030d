"""Applications of queries that are no more: nothing of them stays."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from headrace.broker.port import Broker
from headrace.config import StreamsConfig
from headrace.database.names import is_internal
from headrace.errors import AuthorizationError, in_short
from headrace.lifecycle.state_directory import clean_up

log = logging.getLogger(__name__)


def forget_orphans(broker: Broker, prefix: str) -> None:
    """Remove what push queries left behind whose process was killed; their local state is in temporary directories."""
    for application in broker.applications(prefix):
        try:
            if broker.lease_owner(application) is None:
                _forget(broker, application)
        except AuthorizationError as error:
            log.info("what the push query %s left behind stays: %s", application, in_short(error))


def forget(broker: Broker, config: Mapping[str, Any]) -> None:
    """Remove what the application decided, its internal topics and its local state. LeaseHeldError while it runs."""
    # What else is set may be the very reason why the application could never start.
    found = StreamsConfig({name: config[name] for name in ("application.id", "state.dir")})
    _forget(broker, found.application_id)
    clean_up(found.application_dir)


def _forget(broker: Broker, application: str) -> None:
    broker.delete_application(application)
    for topic in broker.topics():
        if is_internal(topic, application):
            broker.delete_topic(topic)
