"""Files with statements: RUN SCRIPT, and ``headrace sql -f``."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from headrace.sql.catalog.replacing import ExistsError
from headrace.sql.engine.ports import PersistentQuery
from headrace.sql.errors import SqlError, place_of
from headrace.sql.text.parser import parse
from headrace.sql.tree import statements as st
from headrace.sql.tree.names import quoted

_CREATES = (st.CreateSource, st.CreateAs)
_COMPARED = (*_CREATES, st.InsertInto)


def text_of_file(name: str) -> str:
    """What a file has, as UTF-8; an SqlError where it cannot be read."""
    file = Path(name).expanduser()
    try:
        return without_mark(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        message = f"{name} is not UTF-8: byte {error.start} is wrong"
        raise SqlError("script.text", message) from None
    except OSError as error:
        hint = f"The working directory is {Path.cwd()}." if not file.is_absolute() else None
        message = f"the file {name} cannot be read: {error.strerror}"
        raise SqlError("script.file", message, hint=hint) from None


def without_mark(text: str) -> str:
    """The text without the first character by which editors of Windows mark UTF-8."""
    return text.removeprefix("\ufeff")


def take_executed(parsed: st.Parsed, executed: Counter[str]) -> bool:
    """Whether the statement, in these words or others that say the same, is among ``executed``; it is taken out."""
    text = parsed.text if executed[parsed.text] else _same_statement(parsed, executed)
    if text is None:
        return False
    executed[text] -= 1
    return True


def _same_statement(parsed: st.Parsed, executed: Counter[str]) -> str | None:
    """Other blanks, other comments: who runs the file again means the statement that was executed."""
    if not isinstance(parsed.statement, _COMPARED):
        return None
    return next((text for text, left in executed.items() if left and _statement(text) == parsed.statement), None)


def _statement(text: str) -> st.Statement:
    return parse(text, commands=True)[0].statement


def check_inserts(
    script: str, due: Sequence[st.Parsed], passed: Counter[str], running: Iterable[PersistentQuery]
) -> None:
    """Refuse an INSERT INTO ... SELECT in place of one that still runs: rows would be inserted by both.

    ``passed`` are the statements that were executed and are not in the file any more.
    """
    controls = [each.statement for each in due if isinstance(each.statement, st.ControlQuery)]
    ended = {each.query_id for each in controls if each.action is st.QueryAction.TERMINATE}
    removed = [query for query in running if passed[query.statement_text] and ended.isdisjoint((query.id, None))]
    inserting = [query for query in removed if query.plan.is_insert]
    for parsed in due:
        for query in inserting:
            if isinstance(parsed.statement, st.InsertInto) and parsed.statement.target == query.plan.sink:
                raise _inserted_still(script, parsed, query)


def _inserted_still(script: str, parsed: st.Parsed, query: PersistentQuery) -> SqlError:
    message = f"an earlier version of the file inserts into {query.plan.sink} still: {query.id}"
    hint = (
        f"To have the new one in its place, write TERMINATE {query.id}; before it. To have both, put the earlier one "
        "back into the file."
    )
    detail = _difference(query.statement_text, parsed.text, "runs")
    error = SqlError("script.insert", message, place=place_of(parsed.within, parsed.start), detail=detail, hint=hint)
    error.at = script
    return error


@contextmanager
def edits_told(script: str, statements: Sequence[st.Parsed], executed: Mapping[str, Iterable[str]]) -> Iterator[None]:
    """Where a statement makes what another one made, show both. ``executed`` are the statements of each script."""
    try:
        yield
    except ExistsError as error:
        found = _made_before(error, script, statements, executed)
        if found is not None:
            _tell(error, script, *found)
        raise


def _made_before(
    error: ExistsError, script: str, statements: Sequence[st.Parsed], executed: Mapping[str, Iterable[str]]
) -> tuple[st.Parsed, str, str] | None:
    """The statement that ``error`` is about, the one that came before it, and the script that has it."""
    for parsed in statements:
        create = parsed.statement
        if isinstance(create, _CREATES) and create.name == error.old.name:
            for other in sorted(executed, key=lambda name: name != script):
                for text in reversed(list(executed[other])):
                    earlier = _statement(text)
                    if isinstance(earlier, _CREATES) and earlier.name == create.name:
                        return parsed, text, other
    return None


def _tell(error: ExistsError, script: str, parsed: st.Parsed, text: str, other: str) -> None:
    create = parsed.statement
    assert isinstance(create, _CREATES)
    what = f"{create.kind.value} {quoted(create.name)}"
    error.place = error.place or place_of(parsed.within, parsed.start)
    error.at = error.at or script
    if create == _statement(text):
        error.message = f"{what} is there: {other} made it, by the same statement"
        error.hint = f"Is {script} the same file? Run it by its old name, or write CREATE ... IF NOT EXISTS in it."
        return
    made = "an earlier version of the file" if other == script else other
    error.message = f"{what} is there: {made} made it, by another statement"
    error.detail = _difference(text, parsed.text)
    change = f"To change what is there, write CREATE OR REPLACE {what}."
    if error.refusal is not None:
        change = f"This one cannot take its place: {error.refusal.message}."
    error.hint = (
        f"{change} To make it anew, execute DROP {error.old.kind.value} {quoted(create.name)}; first, and run the "
        "file again. To have both, give this one another name."
    )


def _difference(made: str, found: str, did: str = "made it") -> str:
    lines = difflib.unified_diff(made.splitlines(), found.splitlines(), lineterm="", n=0)
    changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
    return "\n".join((f"- {did}, + is in the file:", *(f"    {line[0]} {line[1:].strip()}" for line in changed)))
