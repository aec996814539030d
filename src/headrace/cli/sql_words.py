"""What the shell completes: words of the dialect, and the names of what there is."""

from __future__ import annotations

from headrace.sql.catalog.catalog import Catalog
from headrace.sql.functions.registry import Registry
from headrace.sql.keywords import KEYWORDS

_COMMANDS = ("\\help", "\\q", "\\run")


def completions(word: str, catalog: Catalog, functions: Registry) -> list[str]:
    """What may be meant, in the case in which it was begun.

    >>> completions("sele", Catalog(), Registry())
    ['select']
    """
    if word.startswith("\\"):
        return [command for command in _COMMANDS if command.startswith(word)]
    names = {*catalog.sources, *catalog.types}
    columns = {column.name for source in catalog.sources.values() for column in source.schema}
    known = KEYWORDS | names | columns | functions.names.keys()
    found = sorted(each for each in known if each.startswith(word.upper()))
    return [each.lower() for each in found] if word and word.islower() else found
