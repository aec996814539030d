"""CREATE OR REPLACE: what may be different in a stream or table that takes the place of another."""

from __future__ import annotations

from collections.abc import Callable

from headrace.sql.catalog.catalog import Catalog
from headrace.sql.catalog.sources import Source
from headrace.sql.errors import SqlError
from headrace.sql.schema import Column
from headrace.sql.tree.names import quoted
from headrace.sql.tree.statements import SourceKind


class ExistsError(SqlError):
    """There is a stream or table of the name; ``refusal`` says why another one cannot take its place, if it cannot."""

    def __init__(self, old: Source, refusal: SqlError | None) -> None:
        hint, detail = "Write CREATE OR REPLACE to change it, or CREATE ... IF NOT EXISTS to keep it.", None
        if refusal is not None:
            detail = refusal.message
            hint = f"DROP {old.kind.value} {quoted(old.name)}; first, or give this one another name."
        message = f"there is a {old.kind.value.lower()} {old.name} already"
        super().__init__("ddl.exists", message, detail=detail, hint=hint)
        self.old, self.refusal = old, refusal


def refusal_of(check: Callable[[], object]) -> SqlError | None:
    """What the check raises."""
    try:
        check()
    except SqlError as refusal:
        return refusal
    return None


def check_kind(name: str, old: SourceKind, new: SourceKind) -> None:
    """Refuse to make a stream of a table, or a table of a stream."""
    if old is not new:
        raise _refused(name, f"its kind cannot change from {old.value} to {new.value}")


def check_new_source(new: Source, catalog: Catalog) -> None:
    """Refuse what cannot take the place of the source of that name: who reads the old one reads the new one, too."""
    old = catalog.sources.get(new.name)
    if old is None:
        return
    check_kind(new.name, old.kind, new.kind)
    for what, before, after in _facts(old, new):
        if before != after:
            raise _refused(new.name, f"its {what} cannot change from {before or 'none'} to {after or 'none'}")
    if old.schema.key != new.schema.key:
        raise _refused(new.name, f"its key columns must stay {_listed(old.schema.key)}")
    kept = new.schema.columns[: len(old.schema.columns)]
    missing = [column for column, now in zip(old.schema.columns, kept, strict=False) if column != now]
    missing += old.schema.columns[len(kept) :]
    if missing:
        raise _refused(new.name, f"its columns are changed, missing or reordered: {_listed(missing)}")


def _facts(old: Source, new: Source) -> list[tuple[str, object, object]]:
    return [
        ("topic", old.topic, new.topic),
        ("key format", _format(old, is_key=True), _format(new, is_key=True)),
        ("value format", _format(old, is_key=False), _format(new, is_key=False)),
        ("windows", old.windows, new.windows),
        ("timestamp", old.timestamp, new.timestamp),
    ]


def _format(source: Source, *, is_key: bool) -> str:
    given = source.key_format if is_key else source.value_format
    said = [f"{name}={value}" for name, value in sorted(given.properties.items())]
    said += sorted(str(feature.value) for feature in given.features)
    return f"{given.format.name} ({', '.join(said)})" if said else given.format.name


def _listed(columns: tuple[Column, ...] | list[Column]) -> str:
    return ", ".join(map(str, columns))


def _refused(name: str, why: str) -> SqlError:
    return SqlError("ddl.replace", f"{name} cannot be replaced: {why}")
