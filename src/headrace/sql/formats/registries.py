"""The schema registry that settings name, by ksqlDB's names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.serde.directory_registry import DirectorySchemaRegistry
from headrace.serde.registry import HttpSchemaRegistry, SchemaRegistry, registry_of

_PREFIX = "ksql.schema.registry."
URL = f"{_PREFIX}url"
_USER = f"{_PREFIX}basic.auth.user.info"
_TOKEN = f"{_PREFIX}bearer.auth.token"


def registry_from(settings: Mapping[str, Any], directory: str | Path | None = None) -> SchemaRegistry | None:
    """The registry at ``ksql.schema.registry.url``; without an address the schemas in ``directory``, if it is given.

    Settings such as ``ksql.schema.registry.ssl.ca.location`` are for confluent-kafka's client, which is then asked.

    >>> registry_from({"ksql.schema.registry.url": "http://localhost:8081"})
    HttpSchemaRegistry('http://localhost:8081')
    """
    url = str(settings.get(URL) or "").split(",")[0].strip()
    if not url:
        return None if directory is None else DirectorySchemaRegistry(directory)
    more = {name.removeprefix(_PREFIX): value for name, value in settings.items() if _is_for_client(name)}
    if more:
        return registry_of({"url": url, **more, **_known(settings)})
    return HttpSchemaRegistry(url, auth=_auth(settings))


def _is_for_client(name: str) -> bool:
    """Whether only confluent-kafka's client knows what it means: TLS, OAuth."""
    return name.startswith(_PREFIX) and name not in {URL, _USER, _TOKEN}


def _known(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(_PREFIX): settings[name] for name in (_USER, _TOKEN) if settings.get(name)}


def _auth(settings: Mapping[str, Any]) -> tuple[str, str] | str | None:
    if settings.get(_TOKEN):
        return str(settings[_TOKEN])
    user, _, password = str(settings.get(_USER) or "").partition(":")
    return (user, password) if user else None
