"""What came of a case."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """How a case ended."""

    PASSED = "passed"
    WRONG_OUTPUT = "wrong output"
    WRONG_ERROR = "wrong error"
    NOT_RAISED = "not raised"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Outcome:
    """How a case ended, and what was expected and found."""

    kind: Kind
    expected: tuple[str, ...] = ()
    found: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.kind is Kind.PASSED

    @property
    def reason(self) -> str:
        """The first thing that differs, in one line; of a crash its last line."""
        if self.kind is Kind.CRASHED:
            return "crashed: " + self.found[0].strip().splitlines()[-1]
        for number in range(max(len(self.expected), len(self.found))):
            expected = self.expected[number] if number < len(self.expected) else "nothing"
            found = self.found[number] if number < len(self.found) else "nothing"
            if expected != found:
                return f"{self.kind.value}: expected {expected}, found {found}".replace("\n", " ")
        return str(self.kind.value)


PASSED = Outcome(Kind.PASSED)
