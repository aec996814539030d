"""Every way to call every function is tried."""

from __future__ import annotations

import pickle

import pytest

from headrace.sql.functions import builtin
from headrace.sql.functions.declare import Kind, Overload
from tests.unit.sql.functions import test_bytes, test_collections, test_dates, test_json_text, test_math, test_strings
from tests.unit.sql.functions.calling import chosen

_TRIED_ELSEWHERE = {"RANDOM() -> DOUBLE", "UUID() -> STRING", "UNIX_TIMESTAMP() -> BIGINT", "UNIX_DATE() -> INTEGER"}
"""What has no fixed answer has a test of its own."""


def test_every_overload_of_a_scalar_function_is_tried() -> None:
    families = (test_bytes, test_collections, test_dates, test_json_text, test_math, test_strings)
    calls = [call for family in families for call in family.CASES]
    tried = {f"{chosen(call).overload.name}{chosen(call).overload.signature}" for call in calls} | _TRIED_ELSEWHERE
    known = {f"{each.name}{each.signature}" for each in builtin() if each.kind is Kind.SCALAR}
    assert known - tried == set()


@pytest.mark.parametrize("overload", list(builtin()), ids=lambda each: f"{each.name}{each.signature}")
def test_a_function_is_sent_to_other_processes_by_its_name(overload: Overload) -> None:
    sent = pickle.dumps(overload.body)
    assert len(sent) < 200
    assert pickle.loads(sent) is overload.body
