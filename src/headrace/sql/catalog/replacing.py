"""CREATE OR REPLACE: what may be different in a stream or table that takes the place of another."""

from __future__ import annotations

from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.sources import Source
from headrace.sql.errors import SqlError
from headrace.sql.schema import Column


def check_new_source(new: Source, catalog: Catalog) -> None:
    """Refuse what cannot take the place of the source of that name: who reads the old one reads the new one, too."""
    old = catalog.sources.get(new.name)
    if old is None:
        return
    for what, before, after in _facts(old, new):
        if before != after:
            raise _refused(new, f"its {what} cannot change from {before} to {after}")
    if old.schema.key != new.schema.key:
        raise _refused(new, f"its key columns must stay {_listed(old.schema.key)}")
    kept = new.schema.columns[: len(old.schema.columns)]
    missing = [column for column, now in zip(old.schema.columns, kept, strict=False) if column != now]
    missing += old.schema.columns[len(kept) :]
    if missing:
        raise _refused(new, f"its columns are changed, missing or reordered: {_listed(missing)}")


def _facts(old: Source, new: Source) -> list[tuple[str, object, object]]:
    return [
        ("kind", old.kind.value, new.kind.value),
        ("topic", old.topic, new.topic),
        ("key format", _format(old, is_key=True), _format(new, is_key=True)),
        ("value format", _format(old, is_key=False), _format(new, is_key=False)),
        ("windows", old.windows, new.windows),
        ("timestamp", old.timestamp, new.timestamp),
    ]


def _format(source: Source, *, is_key: bool) -> tuple[str, dict[str, str], list[str]]:
    given = source.key_format if is_key else source.value_format
    return given.format.name, dict(given.properties), sorted(feature.value for feature in given.features)


def _listed(columns: tuple[Column, ...] | list[Column]) -> str:
    return ", ".join(map(str, columns))


def _refused(new: Source, why: str) -> SqlError:
    return SqlError("ddl.replace", f"{new.name} cannot be replaced: {why}")
