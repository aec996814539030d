"""Queries that failed: each is told once, with the reason, while the others go on."""

from __future__ import annotations

from headrace.cli import exits
from headrace.cli.output import Output
from headrace.database import Database
from headrace.errors import HeadraceError

_ERROR = "ERROR"


class Failures:
    """What failed of the queries of a database, as far as this process runs them."""

    def __init__(self, database: Database, out: Output) -> None:
        self._database, self._out = database, out
        self._told: set[str] = set()

    @property
    def failed(self) -> list[str]:
        """The queries that stand still because of an error."""
        database = self._database
        return [id_ for id_ in database.persistent_queries if database.state_of(id_) == _ERROR]

    @property
    def is_all(self) -> bool:
        """Whether no query is left that could go on."""
        return bool(failed := self.failed) and len(failed) == len(self._database.persistent_queries)

    def tell(self) -> None:
        """Say what failed since this was last called; one that runs again may fail again."""
        failed = self.failed
        for id_ in failed:
            if id_ not in self._told:
                self._out.error(_shown(id_, self._database.failure_of(id_)), exits.FAILED)
        self._told = set(failed)


def _shown(query_id: str, failure: BaseException | None) -> HeadraceError:
    message = f"the query {query_id} failed"
    match failure:
        case None:
            return HeadraceError(message)
        case HeadraceError():
            return HeadraceError(
                f"{message}: {failure.message}", detail=failure.detail, hint=failure.hint, at=failure.at
            )
        case _:
            return HeadraceError(f"{message}: {type(failure).__name__}: {failure}")
