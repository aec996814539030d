"""The names that a database has on its broker; ksqlDB's, where ksqlDB has one."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace.sql.build.queries import service_prefix

NOTE = "headrace sql"
"""What leases say of who has them."""
_INTERNAL = ("-changelog", "-repartition", "-subscription-registration-topic", "-subscription-response-topic")


@dataclass(frozen=True, slots=True)
class Names:
    """All of them begin with what names the service, so that several databases have one broker."""

    prefix: str

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Names:
        """Those under these settings."""
        return cls(service_prefix(settings))

    @property
    def journal(self) -> str:
        """The topic of the journal; not ksqlDB's command topic, whose records are others."""
        return f"{self.prefix}_headrace_journal"

    @property
    def writer(self) -> str:
        """Who has the lease of this name may write to the journal."""
        return f"{self.prefix}_headrace_writer"

    @property
    def runner(self) -> str:
        """Who has the lease of this name runs the queries."""
        return f"{self.prefix}_headrace_runner"

    @property
    def transient(self) -> str:
        """How the applications of push queries begin."""
        return f"{self.prefix}transient_"

    def new_transient(self, source: str) -> str:
        """The application of one push query."""
        return f"{self.transient}transient_{source}_{secrets.randbelow(10**19)}"


def is_internal(topic: str, application: str) -> bool:
    """Whether the application made the topic for itself.

    >>> is_internal("app-Aggregate-changelog", "app"), is_internal("app-totals", "app")
    (True, False)
    """
    return topic.startswith(f"{application}-") and topic.endswith(_INTERNAL)
