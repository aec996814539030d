"""The functions that cases may call: all that there are, and those that only tests have."""

from __future__ import annotations

from headrace.sql.functions import Registry, builtin
from tests.ksql import case_functions


def with_test_functions() -> Registry:
    """All functions of SQL, and those of the cases."""
    return builtin().extended(case_functions)
