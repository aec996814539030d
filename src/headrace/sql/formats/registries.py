"""The schema registry that settings name, by ksqlDB's names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace.serde.directory_registry import DirectorySchemaRegistry
from headrace.serde.registry import HttpSchemaRegistry, SchemaRegistry

URL = "ksql.schema.registry.url"
_USER = "ksql.schema.registry.basic.auth.user.info"
_TOKEN = "ksql.schema.registry.bearer.auth.token"


def registry_from(settings: Mapping[str, Any], directory: str | Path | None = None) -> SchemaRegistry | None:
    """The registry at ``ksql.schema.registry.url``; without an address the schemas in ``directory``, if it is given.

    >>> registry_from({"ksql.schema.registry.url": "http://localhost:8081"})
    HttpSchemaRegistry('http://localhost:8081')
    """
    url = str(settings.get(URL) or "").split(",")[0].strip()
    if not url:
        return None if directory is None else DirectorySchemaRegistry(directory)
    return HttpSchemaRegistry(url, auth=_auth(settings))


def _auth(settings: Mapping[str, Any]) -> tuple[str, str] | str | None:
    if settings.get(_TOKEN):
        return str(settings[_TOKEN])
    user, _, password = str(settings.get(_USER) or "").partition(":")
    return (user, password) if user else None
