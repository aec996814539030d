"""Plans of cases, compared with the recorded ones: no record flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.ksql.cases import Case, recorded_plans
from tests.ksql.errors import ErrorRules, planning_error
from tests.ksql.outcomes import PASSED, Kind, Outcome
from tests.ksql.plans import differences


class PlanCases:
    """Compares the plans of cases with those that are recorded beside them."""

    def __init__(self, folder: Path) -> None:
        self._plans: dict[str, dict[str, Any]] = recorded_plans(folder / "plans")
        self._rules = ErrorRules(folder / "error-rules.json")

    def outcome(self, case: Case) -> Outcome:
        """How planning the case ends; a crash is an outcome, and the next case comes after it."""
        try:
            if case.expected_error is not None:
                return self._error(case, case.expected_error)
            found = differences(case, self._plans[case.id])
            return Outcome(Kind.WRONG_OUTPUT, ("the recorded plan",), tuple(found)) if found else PASSED
        except Exception as error:
            return Outcome(Kind.CRASHED, (), (f"{type(error).__name__}: {error}",))

    def _error(self, case: Case, said: dict[str, Any]) -> Outcome:
        message = said.get("message") or ""
        expected, error = self._rules.code(message), planning_error(case)
        if expected == "run.processing":
            return PASSED if error is None else Outcome(Kind.WRONG_ERROR, ("no error yet",), (str(error),))
        if error is None:
            return Outcome(Kind.NOT_RAISED, (f"{expected}: {message}",), ("no error",))
        if error.place is None:
            return Outcome(Kind.WRONG_ERROR, (f"{expected}: {message}",), (f"{error.code} has no place: {error}",))
        if error.code == expected:
            return PASSED
        return Outcome(Kind.WRONG_ERROR, (f"{expected}: {message}",), (f"{error.code}: {error}",))
